package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"dragoman/core"
)

// List implements core.Store. If the index is needed and the data folder cannot be
// written, it reads all logs instead.
func (s *Store) List(ctx context.Context, p core.Principal) iter.Seq2[core.Summary, error] {
	return s.list(ctx, listing{principal: p})
}

// ListNow implements core.ListerNow.
func (s *Store) ListNow(ctx context.Context, p core.Principal) iter.Seq2[core.Summary, error] {
	return s.list(ctx, listing{principal: p, now: true})
}

// Conversations implements core.ListerNow.
func (s *Store) Conversations(ctx context.Context, p core.Principal, part core.Part) iter.Seq2[core.Summary, error] {
	return s.list(ctx, listing{principal: p, now: true, part: &part})
}

// list makes a list of the kind of l.
func (s *Store) list(ctx context.Context, l listing) iter.Seq2[core.Summary, error] {
	return func(yield func(core.Summary, error) bool) {
		l := l
		l.store, l.yield = s, yield
		if err := l.run(ctx); err != nil {
			yield(core.Summary{}, fmt.Errorf("list sessions: %w", err))
		}
	}
}

// listing is one list, with its findings about the index.
type listing struct {
	store     *Store
	principal core.Principal
	now       bool       // it does not wait for an index that is rebuilt
	part      *core.Part // of the conversations; nil: it has all sessions, in the order of the index
	yield     func(core.Summary, error) bool

	sure     []listedPlace // whose logs have the length that the index says
	lookedUp []indexEntry  // of logs whose length differs from the index
	gone     []files       // of sessions in the index that have no log
	crashed  []files       // of sessions with a dead owner
	looked   int           // logs that doubts has looked at
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
		switch waited, listed, err := l.aside(ctx, root); {
		case err != nil || listed:
			return err
		case waited:
			continue
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

// aside deals with a lost index that is rebuilt in the background: the list has waited for that, or it has yielded
// core.ErrIncomplete and what is known by now.
func (l *listing) aside(ctx context.Context, root string) (waited, listed bool, err error) {
	r := l.store.rebuilds()
	switch {
	case l.now && (r != nil || l.store.mayRebuild() && l.store.hasMany(root)):
		found := slices.Clone(l.store.startRebuild(root))
		byUse(found)
		if l.yield(core.Summary{}, core.ErrIncomplete) {
			l.these(found)
		}
		return false, true, nil
	case r != nil:
		select {
		case <-r.done:
			return true, false, nil
		case <-ctx.Done():
			return false, false, context.Cause(ctx)
		}
	}
	return false, false, nil
}

// these yields the principal's sessions of these, which are sorted by byUse.
func (l *listing) these(all []indexEntry) {
	var list iter.Seq2[core.Summary, error] = func(yield func(core.Summary, error) bool) {
		for _, e := range slices.Backward(all) {
			if e.Principal == l.principal && !yield(e.Summary, nil) {
				return
			}
		}
	}
	if l.part != nil {
		list = l.part.Of(list)
	}
	list(l.yield)
}

// index yields the principal's sessions in the index.
func (l *listing) index(ctx context.Context, root string) error {
	if l.part != nil {
		return l.talks(ctx, root)
	}
	places, err := l.places(ctx, root)
	if err != nil {
		return err
	}
	for n, p := range slices.Backward(places) {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if p.entry.Principal != l.principal {
			continue
		}
		sum, ok := p.entry.Summary, p.trusted
		if !ok {
			sum, ok = l.current(ctx, root, p)
		}
		if ok && !l.yield(sum, nil) {
			return nil
		}
	}
	return nil
}

// listedPlace is a place in the catalog, as it was when the list began.
type listedPlace struct {
	entry   *indexEntry
	place   *place    // it belongs to whoever has Store.reading
	at      time.Time // folder.at
	owned   bool
	trusted bool
}

// places brings the catalog up to date, and returns its places in their order.
func (l *listing) places(ctx context.Context, root string) ([]listedPlace, error) {
	done, err := l.catalog(ctx, root)
	if err != nil {
		return nil, err
	}
	defer done()
	c := &l.store.catalog
	all := make([]listedPlace, 0, len(c.places))
	for _, p := range c.order {
		if p != nil {
			p.folder.look(root)
			p.folder.readOwners(root)
			all = append(all, listedPlace{p.entry, p, p.folder.at, p.folder.owned[p.key], p.trusted()})
		}
	}
	return all, nil
}

// catalog brings the catalog up to date, for its use until done.
func (l *listing) catalog(ctx context.Context, root string) (done func(), err error) {
	done, err = l.store.catalogue(ctx)
	if err != nil {
		return nil, err
	}
	index, err := openFile(indexPath(root), os.O_RDONLY)
	if err == nil {
		err = errors.Join(l.store.catalog.update(ctx, root, index), index.Close())
	}
	if err != nil {
		done()
		return nil, err
	}
	for _, f := range l.store.catalog.folders {
		f.listed = false
	}
	return done, nil
}

// catalogue waits until no other list of this process uses the catalog; done ends the use.
func (s *Store) catalogue(ctx context.Context) (done func(), err error) {
	select {
	case s.reading <- struct{}{}:
		return func() { <-s.reading }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// logs yields the principal's sessions that have a log.
func (l *listing) logs(ctx context.Context, root string) error {
	all, err := l.store.deriveAll(ctx, root)
	if err == nil {
		l.these(all)
	}
	return err
}

// current returns the up-to-date summary for an entry. ok is false if the session is gone.
func (l *listing) current(ctx context.Context, root string, p listedPlace) (sum core.Summary, ok bool) {
	e := *p.entry
	f := l.store.filesAt(root, p.place.key)
	fi, err := os.Lstat(f.log)
	switch {
	case err != nil:
		if errors.Is(err, fs.ErrNotExist) {
			l.gone = append(l.gone, f)
		}
		return core.Summary{}, false
	case fi.Size() == e.Log:
		if !p.at.IsZero() && !p.owned {
			l.sure = append(l.sure, p)
		}
		return e.Summary, true
	}
	o := readOwner(f.owner)
	if o.alive() { // it will note its changes
		if t := fi.ModTime(); t.After(e.Summary.Updated) {
			e.Summary.Updated = t.UTC()
		}
		return e.Summary, true
	}
	if o.PID != 0 {
		l.crashed = append(l.crashed, f)
	}
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

// remember notes which logs agree with the index, if their folders have not changed since.
func (l *listing) remember(ctx context.Context) {
	if len(l.sure) == 0 {
		return
	}
	done, err := l.store.catalogue(ctx)
	if err != nil {
		return
	}
	defer done()
	for _, p := range l.sure {
		if p.place.entry == p.entry && p.place.folder.at.Equal(p.at) {
			p.place.length = p.entry.Log
		}
	}
}

// sweptAtOnce limits the number of sessions of dead owners that one list of conversations sweeps, so that the time
// of a list does not grow with their number.
const sweptAtOnce = 16

// settle stores the summaries that the list has derived, so that the next list need
// not, and sweeps if the list has found remains of a crash. If it fails the next list
// tries again.
func (l *listing) settle(ctx context.Context) {
	l.remember(ctx)
	kept := max(l.looked, len(l.sure)) >= stampsFrom
	if len(l.lookedUp)+len(l.gone)+len(l.crashed) == 0 && !kept {
		return
	}
	_ = l.store.changeIndex(ctx, func(root string) error {
		if kept {
			_ = l.store.keepStamps(ctx, root) // the next list tries again
		}
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
		all := l.part == nil
		if !all && !dead {
			for _, f := range l.crashed[:min(len(l.crashed), sweptAtOnce)] {
				_ = f.sweep(ctx) // as above
			}
			return nil // whoever writes the next entry makes the index small
		}
		if large || dead {
			if err := l.store.compactIndex(ctx, root); err != nil {
				return err
			}
		}
		if large || dead || len(l.crashed) > 0 {
			return l.store.sweep(ctx, root)
		}
		return nil
	})
}
