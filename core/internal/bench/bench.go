// Package bench keeps the toolsets that a session has opened, and lists their tools.
package bench

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
)

// Toolset is a session's own instance of a toolbox. Changed yields after its list of tools has
// changed; nil: it never does.
type Toolset[T any] interface {
	Tools(context.Context) ([]T, error)
	Changed() <-chan struct{}
	Close() error
}

// Tool has a description, from which a model knows it.
type Tool[D any] interface{ Spec() D }

// Name finds a tool.
type Name struct{ Server, Tool string }

// Bench is the toolsets S of some toolboxes B, with tools T and their descriptions D. One goroutine
// owns it; others may read its list of tools. A nil Bench is empty, and cannot list.
type Bench[B any, S Toolset[T], T Tool[D], D any] struct {
	boxes  []B
	sets   []S // in the order of boxes
	shelf  *Shelf[D]
	listed atomic.Pointer[catalog[T, D]] // nil: to be listed
}

// catalog is a list of tools. It never changes.
type catalog[T, D any] struct {
	*descriptions[D]

	tools []T
}

// Open opens a toolset of every toolbox, and takes over those that the bench before it has. An error
// leaves them open. The descriptions of its tools are kept in shelf.
func Open[B any, S Toolset[T], T Tool[D], D any](before *Bench[B, S, T, D], boxes []B, open func(B) (S, error), shelf *Shelf[D]) (*Bench[B, S, T, D], error) {
	b := &Bench[B, S, T, D]{boxes: boxes, shelf: shelf}
	for _, box := range boxes {
		set, ok := before.of(box)
		if !ok {
			var err error
			if set, err = open(box); err != nil {
				return nil, errors.Join(fmt.Errorf("open the tools: %w", err), b.Close(before))
			}
		}
		b.sets = append(b.sets, set)
	}
	return b, nil
}

// of returns the toolset of a toolbox; ok is false if there is none.
func (b *Bench[B, S, T, D]) of(box B) (set S, ok bool) {
	if b == nil {
		return set, false
	}
	if i := slices.IndexFunc(b.boxes, func(have B) bool { return same(have, box) }); i >= 0 {
		return b.sets[i], true
	}
	return set, false
}

// same reports whether two toolboxes are the very same one.
func same[B any](a, b B) bool { return reflect.TypeOf(a).Comparable() && any(a) == any(b) }

// Has reports whether the bench was opened for these very toolboxes.
func (b *Bench[B, S, T, D]) Has(boxes []B) bool { return slices.EqualFunc(b.boxes, boxes, same[B]) }

// Sets lists the toolsets.
func (b *Bench[B, S, T, D]) Sets() []S {
	if b == nil {
		return nil
	}
	return b.sets
}

// Close closes the toolsets that another bench has not taken over; nil: all of them. It does so side
// by side, because each may wait for programs to end.
func (b *Bench[B, S, T, D]) Close(other *Bench[B, S, T, D]) error {
	if b == nil {
		return nil
	}
	errs := make([]error, len(b.sets))
	var wg sync.WaitGroup
	for i, set := range b.sets {
		if _, over := other.of(b.boxes[i]); !over {
			wg.Go(func() { errs[i] = set.Close() })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Forget has the next Refresh list the tools.
func (b *Bench[B, S, T, D]) Forget() { b.listed.Store(nil) }

// List lists the tools. Those that were listed before stay until that is done.
func (b *Bench[B, S, T, D]) List(ctx context.Context) error {
	var specs []D
	var all []T
	taken := map[Name]struct{}{}
	for _, set := range b.sets {
		tools, err := set.Tools(ctx)
		if err != nil {
			b.Forget() // the next turn lists them
			return fmt.Errorf("list the tools: %w", err)
		}
		for _, tool := range tools {
			spec := tool.Spec()
			name := b.shelf.name(spec)
			if _, dup := taken[name]; dup {
				continue // the first one keeps the name
			}
			taken[name] = struct{}{}
			specs, all = append(specs, spec), append(all, tool)
		}
	}
	b.listed.Store(&catalog[T, D]{b.shelf.share(specs), slices.Clip(all)})
	return nil
}

// Refresh lists the tools again when a toolset says that they changed.
func (b *Bench[B, S, T, D]) Refresh(ctx context.Context) error {
	changed := b.listed.Load() == nil
	for _, set := range b.sets {
		select {
		case <-set.Changed():
			changed = true
		default:
		}
	}
	if !changed {
		return nil
	}
	return b.List(ctx)
}

// Specs returns the descriptions of the listed tools, in their order.
func (b *Bench[B, S, T, D]) Specs() []D {
	if b == nil {
		return nil
	}
	if c := b.listed.Load(); c != nil {
		return c.specs
	}
	return nil
}

// Tool returns a listed tool; ok is false if there is none.
func (b *Bench[B, S, T, D]) Tool(name Name) (tool T, ok bool) {
	if b == nil {
		return tool, false
	}
	if c := b.listed.Load(); c != nil {
		var at int
		if at, ok = c.at[name]; ok {
			tool = c.tools[at]
		}
	}
	return tool, ok
}
