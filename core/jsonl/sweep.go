package jsonl

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dragoman/core/lock"
)

// sweep takes away what crashes have left in a data folder. The index is locked. Each
// session is locked while it is swept; what a living process uses has its lock, and
// what another host may use is left alone.
func (s *Store) sweep(ctx context.Context, root string) error {
	errs := []error{s.disk.remove(indexPath(root) + unfinished)}
	dirs, err := os.ReadDir(filepath.Join(root, "sessions"))
	errs = append(errs, err)
	for _, d := range dirs {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		dir := filepath.Join(root, "sessions", d.Name())
		names, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		errs = append(errs, err)
		left := map[string]bool{} // by key: something is left of a crash, perhaps
		for _, name := range names {
			key, kind, _ := strings.Cut(name.Name(), ".")
			f := s.filesOf(dir, key)
			switch kind {
			case "jsonl" + unfinished, "owner" + unfinished, "gone":
				left[key] = true
			case "owner":
				left[key] = left[key] || !readOwner(f.owner).alive()
			case "lock":
				left[key] = left[key] || !exists(f.log)
			}
		}
		for key, is := range left {
			if is {
				errs = append(errs, s.filesOf(dir, key).sweep(ctx))
			}
		}
	}
	return errors.Join(errs...)
}

// sweep takes away what a crash has left of one session, unless somebody has it.
func (f files) sweep(ctx context.Context) error {
	held, err := f.disk.lock(ctx, f.lock, func() bool { return false })
	if errors.Is(err, lock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	if readOwner(f.owner).elsewhere() {
		return held.unlock()
	}
	err = f.clearLeft()
	if err == nil && !exists(f.log) {
		err = f.clearGone()
	}
	if err != nil || exists(f.log) {
		return errors.Join(err, held.unlock())
	}
	return held.remove()
}

// clearLeft removes what an owner, or who makes a session, leaves when it dies. The
// session is locked.
func (f files) clearLeft() error {
	return errors.Join(f.disk.remove(f.owner), f.disk.remove(f.owner+unfinished), f.disk.remove(f.log+unfinished))
}

// clearGone removes what belongs to a session that is being deleted, if it is. The
// session is locked, and has no log.
func (f files) clearGone() error {
	if !exists(f.gone) {
		return nil
	}
	errs := []error{f.disk.clear(f.values), f.disk.clear(f.spill)}
	kept := 0
	for exists(f.damaged(kept + 1)) {
		kept++
	}
	for n := kept; n > 0; n-- { // the first last: a crash leaves none behind a missing one
		errs = append(errs, f.disk.remove(f.damaged(n)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return f.disk.remove(f.gone)
}
