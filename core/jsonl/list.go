package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	"dragoman/core"
)

// List implements core.Store.
func (s *Store) List(ctx context.Context, p core.Principal) iter.Seq2[core.Summary, error] {
	return func(yield func(core.Summary, error) bool) {
		if err := s.list(ctx, p, func(sum core.Summary) bool { return yield(sum, nil) }); err != nil {
			yield(core.Summary{}, fmt.Errorf("list sessions: %w", err))
		}
	}
}

func (s *Store) list(ctx context.Context, p core.Principal, yield func(core.Summary) bool) error {
	root, err := s.find(false)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !exists(root) {
		return nil // no session was ever made, or somebody has removed them all
	}
	if err != nil {
		return err
	}
	listed := map[core.SessionID]bool{}
	for tries := 0; ; tries++ {
		err := s.listIndex(ctx, root, p, listed, yield)
		if tries > 1 || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errBad) {
			return err
		}
		damaged := errors.Is(err, errBad)
		err = s.changeIndex(ctx, func(root string) error {
			if damaged || !exists(indexPath(root)) { // nobody has made it meanwhile
				return s.rebuildIndex(ctx, root)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// listIndex yields what the index has of a principal and is not listed yet.
func (s *Store) listIndex(ctx context.Context, root string, p core.Principal, listed map[core.SessionID]bool, yield func(core.Summary) bool) error {
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
		if e.Principal != p || listed[e.Summary.ID] {
			continue
		}
		listed[e.Summary.ID] = true
		sum, ok := s.current(ctx, root, e, len(listed) == 1)
		if ok && !yield(sum) {
			return nil
		}
	}
	return nil
}

// current makes an entry of the index true. ok is false if the session is gone.
// newest says that no session was used after it.
func (s *Store) current(ctx context.Context, root string, e indexEntry, newest bool) (sum core.Summary, ok bool) {
	f := s.files(root, e.Principal, e.Summary.ID)
	fi, err := os.Lstat(f.log)
	switch {
	case err != nil:
		return core.Summary{}, false
	case fi.Size() == e.Log:
		return e.Summary, true
	case readOwner(f.owner).alive(): // it will note what it does
		if t := fi.ModTime(); t.After(e.Summary.Updated) {
			e.Summary.Updated = t.UTC()
		}
		return e.Summary, true
	}
	now, err := derive(ctx, f)
	if err != nil {
		return e.Summary, true
	}
	if newest { // kept for the next list, where it stays the first; others would overtake those used after them
		_ = s.note(ctx, now.Principal, now.Summary, f, func() error { return nil }) // if that fails it is derived again
	}
	return now.Summary, true
}
