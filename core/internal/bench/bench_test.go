package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
)

type tool string

func (t tool) Spec() string { return string(t) }

type set struct {
	tools   []tool
	err     error
	changed chan struct{}
	listing func()
	closing func()
	closed  bool
}

func (s *set) Tools(context.Context) ([]tool, error) {
	if s.listing != nil {
		s.listing()
	}
	return s.tools, s.err
}

func (s *set) Changed() <-chan struct{} { return s.changed }
func (s *set) Close() error {
	if s.closing != nil {
		s.closing()
	}
	s.closed = true
	return errors.New("closed")
}

// boxes opens the sets of toolboxes; without one it fails.
type boxes map[any]*set

func (b boxes) open(box any) (*set, error) {
	if s := b[box]; s != nil {
		return s, nil
	}
	return nil, errors.New("no such box")
}

// name takes "server/tool  any text" apart.
func name(spec string) Name {
	server, rest, _ := strings.Cut(spec, "/")
	tool, _, _ := strings.Cut(rest, " ")
	return Name{server, tool}
}

var shelf = NewShelf(name, func(a, b string) bool { return a == b })

func open(t *testing.T, b boxes, before *Bench[any, *set, tool, string], list ...any) *Bench[any, *set, tool, string] {
	t.Helper()
	got, err := Open(before, list, b.open, shelf)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A bench takes over the toolsets of the one before it, and the rest of those are closed.
func TestTakeOver(t *testing.T) {
	b := boxes{1: {}, 2: {}, 3: {}}
	first := open(t, b, nil, 1, 2)
	second := open(t, boxes{3: b[3]}, first, 2, 3)
	if got := second.Sets(); !slices.Equal(got, []*set{b[2], b[3]}) {
		t.Errorf("the toolsets are %v", got)
	}
	if !second.Has([]any{2, 3}) || second.Has([]any{3, 2}) || second.Has([]any{2}) {
		t.Error("a bench has the toolboxes that it was opened for, in their order")
	}
	if err := first.Close(second); err == nil || !b[1].closed || b[2].closed || b[3].closed {
		t.Errorf("closed: %t %t %t, %v", b[1].closed, b[2].closed, b[3].closed, err)
	}
	if err := second.Close(nil); err == nil || !b[2].closed || !b[3].closed {
		t.Errorf("closed: %t %t, %v", b[2].closed, b[3].closed, err)
	}
}

// A toolbox that cannot be opened leaves open what was there, and nothing else.
func TestOpenFails(t *testing.T) {
	b := boxes{1: {}, 2: {}}
	before := open(t, b, nil, 1)
	got, err := Open(before, []any{2, 1, 3}, b.open, shelf)
	if got != nil || err == nil || !strings.HasPrefix(err.Error(), "open the tools: no such box") {
		t.Fatalf("opened %v, %v", got, err)
	}
	if b[1].closed || !b[2].closed {
		t.Errorf("closed: %t %t", b[1].closed, b[2].closed)
	}
}

// A toolbox that cannot be compared is another one each time.
func TestIncomparableBox(t *testing.T) {
	box := []int{1}
	s := &set{}
	first, err := Open(nil, []any{box}, func(any) (*set, error) { return s, nil }, shelf)
	if err != nil {
		t.Fatal(err)
	}
	if first.Has([]any{box}) {
		t.Error("it is the same toolbox")
	}
	if err := first.Close(first); err == nil || !s.closed {
		t.Errorf("its toolset was taken over: %v", err)
	}
}

// Toolsets are closed side by side: each of these waits for the other.
func TestCloseSideBySide(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	wait := func() {
		both.Done()
		both.Wait()
	}
	b := open(t, boxes{1: {closing: wait}, 2: {closing: wait}}, nil, 1, 2)
	if err := b.Close(nil); err == nil || strings.Count(err.Error(), "closed") != 2 {
		t.Errorf("closed with %v", err)
	}
}

// The tools are in the order of the toolsets, and the first one of a name keeps it.
func TestList(t *testing.T) {
	b := open(t, boxes{1: {tools: []tool{"a/x one", "a/y"}}, 2: {tools: []tool{"a/x two", "b/x"}}}, nil, 1, 2)
	if err := b.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.Specs(); !slices.Equal(got, []string{"a/x one", "a/y", "b/x"}) {
		t.Errorf("the tools are %v", got)
	}
	if got, ok := b.Tool(Name{"a", "x"}); !ok || got != "a/x one" {
		t.Errorf("a/x is %q, %t", got, ok)
	}
	if _, ok := b.Tool(Name{"b", "y"}); ok {
		t.Error("there is a tool b/y")
	}
}

// The list is read again after a change, after Forget, and after an error.
func TestRefresh(t *testing.T) {
	s := &set{tools: []tool{"a/x"}, changed: make(chan struct{}, 1)}
	b := open(t, boxes{1: s}, nil, 1)
	refresh := func(what string, want ...string) {
		t.Helper()
		if err := b.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := b.Specs(); !slices.Equal(got, want) {
			t.Errorf("%s: the tools are %v, want %v", what, got, want)
		}
	}
	refresh("first", "a/x")
	s.tools = []tool{"a/y"}
	refresh("unchanged", "a/x")
	s.changed <- struct{}{}
	refresh("changed", "a/y")
	s.tools = []tool{"a/z"}
	b.Forget()
	refresh("forgotten", "a/z")
	s.changed <- struct{}{}
	s.tools, s.err = []tool{"a/u"}, errors.New("it broke")
	if err := b.Refresh(t.Context()); err == nil || err.Error() != "list the tools: it broke" {
		t.Errorf("listed with %v", err)
	}
	s.err = nil
	refresh("after an error", "a/u")
}

// Nothing is open before the first turn.
func TestNil(t *testing.T) {
	var b *Bench[any, *set, tool, string]
	if _, ok := b.Tool(Name{}); ok || b.Sets() != nil || b.Close(nil) != nil {
		t.Error("nil is not empty")
	}
}

// Calls that run side by side find their tools while these are listed again.
func TestAListIsReplacedWhole(t *testing.T) {
	s := &set{tools: []tool{"a/x"}}
	b := open(t, boxes{1: s}, nil, 1)
	if err := b.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := false
	s.listing = func() { _, found = b.Tool(Name{"a", "x"}) }
	if err := b.List(t.Context()); err != nil || !found {
		t.Errorf("during a second list: found %v, %v", found, err)
	}
}

// Benches with the same tools share the descriptions, and each finds its own tools.
func TestShelf(t *testing.T) {
	b := boxes{"one": {tools: []tool{"s/a", "s/b"}}, "same": {tools: []tool{"s/a", "s/b"}}, "other": {tools: []tool{"s/a"}}}
	listed := func(box string) *Bench[any, *set, tool, string] {
		got := open(t, b, nil, box)
		if err := got.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		return got
	}
	one, same, other := listed("one"), listed("same"), listed("other")
	if &one.Specs()[0] != &same.Specs()[0] || &one.Specs()[0] == &other.Specs()[0] || len(other.Specs()) != 1 {
		t.Errorf("%v, %v, %v", one.Specs(), same.Specs(), other.Specs())
	}
	if got, ok := same.Tool(Name{"s", "b"}); !ok || got != "s/b" {
		t.Errorf("%v %v", got, ok)
	}
	for i := range 2 * maxShelf {
		b["one"].tools = []tool{tool("s/" + string(rune('a'+i)))}
		listed("one")
	}
	if n := len(shelf.kept); n > maxShelf {
		t.Errorf("it keeps %d lists", n)
	}
}
