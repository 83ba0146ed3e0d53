package jsonl

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dragoman/core/datadir"
)

// sweep removes the remains of crashes in a data folder. The index must be locked.
// Each session is locked while it is swept. A session that a living process has
// locked, or that another host may use, is left alone.
func (s *Store) sweep(ctx context.Context, root string) error {
	errs := []error{s.disk.remove(indexPath(root) + unfinished), s.disk.remove(stampsPath(root) + unfinished)}
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
		left := map[string]bool{} // keys of sessions that may have remains
		for _, name := range names {
			key, kind, _ := strings.Cut(name.Name(), ".")
			f := s.filesOf(dir, key)
			switch kind {
			case "jsonl" + unfinished, "owner" + unfinished, "gone", "arrival", "arrival" + unfinished:
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

// sweep removes the remains of one session after a crash, unless it is locked.
func (f files) sweep(ctx context.Context) error {
	held, err := f.disk.lock(ctx, f.lock, func() bool { return false })
	if errors.Is(err, datadir.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	if readOwner(f.owner).elsewhere() {
		return held.unlock()
	}
	err = errors.Join(f.clearLeft(), f.sweepArrival(ctx))
	if err == nil && exists(f.log) && f.unborn() {
		err = f.disk.remove(f.log)
	}
	if err == nil && !exists(f.log) {
		err = f.clearGone()
	}
	if err != nil || exists(f.log) {
		return errors.Join(err, held.unlock())
	}
	return held.remove()
}

// clearLeft removes the remains of a process that died while it owned or created a
// session. The session must be locked.
func (f files) clearLeft() error {
	return errors.Join(f.disk.remove(f.owner), f.disk.remove(f.owner+unfinished), f.disk.remove(f.log+unfinished))
}

// clearGone removes the rest of a session that is being deleted; it does nothing for
// others. The session must be locked, and have no log.
func (f files) clearGone() error {
	if !exists(f.gone()) {
		return nil
	}
	errs := []error{f.disk.clear(f.values()), f.disk.clear(f.spill())}
	kept := 0
	for exists(f.damaged(kept + 1)) {
		kept++
	}
	for n := kept; n > 0; n-- { // from the last one down, so that a crash leaves no gap in the numbers
		errs = append(errs, f.disk.remove(f.damaged(n)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return f.disk.remove(f.gone())
}
