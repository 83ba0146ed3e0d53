package jsonl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"dragoman/core"
)

const (
	// markEvery is the time between two marks of a session that a process watches.
	markEvery = time.Hour
	// marked is the time for which a mark counts.
	marked = 2 * markEvery
)

// Use says whether any process uses a session.
type Use struct {
	Owner   string    // the living process that owns it, for people; empty: none
	Watched bool      // a process watches it, or did in the last two hours
	Changed time.Time // the time of the last change of its log
}

// Use looks whether any process uses a session; core.ErrNotFound if there is none.
func (s *Store) Use(p core.Principal, id core.SessionID) (Use, error) {
	f, err := s.repairable(p, id)
	var log fs.FileInfo
	if err == nil {
		log, err = os.Lstat(f.log)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = core.ErrNotFound
	}
	if err != nil {
		return Use{}, fmt.Errorf("look at session %q: %w", id, err)
	}
	use := Use{Changed: log.ModTime()}
	if o := readOwner(f.owner); o.alive() {
		use.Owner = o.String()
	}
	lock, err := os.Lstat(f.lock)
	use.Watched = err == nil && time.Since(lock.ModTime()) < marked
	return use, nil
}

// mark says to other processes that the session is watched: by the time of its lock, which changes
// otherwise only when the lock is made. If the file system does not allow it they do not know.
func (f files) mark() {
	now := time.Now()
	_ = os.Chtimes(f.lock, now, now)
}
