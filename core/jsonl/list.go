package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"

	"dragoman/core"
)

// List implements core.Store. If the index is needed and the data folder cannot be
// written, it reads all logs instead.
func (s *Store) List(ctx context.Context, p core.Principal) iter.Seq2[core.Summary, error] {
	return func(yield func(core.Summary, error) bool) {
		l := listing{
			store:     s,
			principal: p,
			listed:    map[core.SessionID]bool{},
			yield:     func(sum core.Summary) bool { return yield(sum, nil) },
		}
		if err := l.run(ctx); err != nil {
			yield(core.Summary{}, fmt.Errorf("list sessions: %w", err))
		}
	}
}

// listing is one list, with its findings about the index.
type listing struct {
	store     *Store
	principal core.Principal
	listed    map[core.SessionID]bool
	yield     func(core.Summary) bool

	lookedUp []indexEntry // of logs whose length differs from the index
	gone     []files      // of sessions in the index that have no log
	crashed  bool         // an owner is dead
}

func (l *listing) run(ctx context.Context) error {
	root, err := l.store.find(false)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !exists(root) {
		return nil // no session was ever made, or all were removed
	}
	if err != nil {
		return err
	}
	defer l.settle(ctx)
	for tries := 0; ; tries++ {
		err := l.index(ctx, root)
		if tries > 1 || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errBad) {
			return err
		}
		damaged := errors.Is(err, errBad)
		err = l.store.changeIndex(ctx, func(root string) error {
			if damaged || !exists(indexPath(root)) { // not made by another process meanwhile
				return l.store.rebuildIndex(ctx, root)
			}
			return nil
		})
		if err != nil && ctx.Err() == nil { // the folder cannot be written
			return l.logs(ctx, root)
		}
		if err != nil {
			return err
		}
	}
}

// index yields the principal's sessions in the index that are not listed yet.
func (l *listing) index(ctx context.Context, root string) error {
	index, err := openFile(indexPath(root), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = index.Close() }()
	for e, err := range entries(index) {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if e.Principal != l.principal || l.listed[e.Summary.ID] {
			continue
		}
		l.listed[e.Summary.ID] = true
		sum, ok := l.current(ctx, root, e)
		if ok && !l.yield(sum) {
			return nil
		}
	}
	return nil
}

// logs yields the principal's sessions that have a log and are not listed yet.
func (l *listing) logs(ctx context.Context, root string) error {
	all, err := l.store.deriveAll(ctx, root)
	for _, e := range slices.Backward(all) {
		if e.Principal == l.principal && !l.listed[e.Summary.ID] && !l.yield(e.Summary) {
			return nil
		}
	}
	return err
}

// current returns the up-to-date summary for an entry. ok is false if the session is gone.
func (l *listing) current(ctx context.Context, root string, e indexEntry) (sum core.Summary, ok bool) {
	f := l.store.files(root, e.Principal, e.Summary.ID)
	fi, err := os.Lstat(f.log)
	switch {
	case err != nil:
		if errors.Is(err, fs.ErrNotExist) {
			l.gone = append(l.gone, f)
		}
		return core.Summary{}, false
	case fi.Size() == e.Log:
		return e.Summary, true
	}
	o := readOwner(f.owner)
	if o.alive() { // it will note its changes
		if t := fi.ModTime(); t.After(e.Summary.Updated) {
			e.Summary.Updated = t.UTC()
		}
		return e.Summary, true
	}
	l.crashed = l.crashed || o.PID != 0
	now, err := derive(ctx, f)
	if errors.Is(err, fs.ErrNotExist) {
		l.gone = append(l.gone, f)
		return core.Summary{}, false
	}
	if err != nil {
		return e.Summary, true
	}
	now.Keeps = true
	l.lookedUp = append(l.lookedUp, now)
	return now.Summary, true
}

// settle stores the summaries that the list has derived, so that the next list need
// not, and sweeps if the list has found remains of a crash. If it fails the next list
// tries again.
func (l *listing) settle(ctx context.Context) {
	if len(l.lookedUp) == 0 && len(l.gone) == 0 && !l.crashed {
		return
	}
	_ = l.store.changeIndex(ctx, func(root string) error {
		var large bool
		if len(l.lookedUp) > 0 {
			var err error
			if large, err = l.store.appendEntries(ctx, root, false, l.lookedUp...); err != nil {
				return err
			}
		}
		// A session without a log may have been about to be created.
		dead := slices.ContainsFunc(l.gone, func(f files) bool { return !f.there() })
		for _, f := range l.gone {
			if exists(f.log) && f.unborn() {
				_ = f.sweep(ctx) // the next list tries again
			}
		}
		if large || dead {
			if err := l.store.compactIndex(ctx, root); err != nil {
				return err
			}
		}
		if large || dead || l.crashed {
			return l.store.sweep(ctx, root)
		}
		return nil
	})
}
