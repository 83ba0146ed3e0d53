package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// bound limits what programs may keep in the session's /tmp.
type bound struct {
	most   int64         // bytes on the disk
	period time.Duration // between two looks, at least
}

// defaultBound leaves room for builds. What is written between two looks may go beyond it.
var defaultBound = bound{most: 8 << 30, period: 2 * time.Second}

// lookShare is the part of the time that looking may take: a folder with many files is looked at less often.
const lookShare = 20

// watch looks at the size of /tmp until ctx is done.
func (s *Session) watch(ctx context.Context, dir string) {
	pause := s.bound.period
	for {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		began := time.Now()
		if sizeOf(ctx, dir, s.bound.most) > s.bound.most {
			s.overflow(dir)
		}
		pause = max(s.bound.period, lookShare*time.Since(began))
	}
}

// sizeOf returns how much the files of a folder take on the disk, in bytes. It stops above a limit.
func sizeOf(ctx context.Context, dir string, most int64) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is gone, or cannot be read
		}
		if info, err := e.Info(); err == nil {
			size += allocated(info)
		}
		if size > most || ctx.Err() != nil {
			return filepath.SkipAll
		}
		return nil
	})
	return size
}

// overflow ends all that runs in the sandbox and empties its /tmp.
func (s *Session) overflow(dir string) {
	s.turn <- struct{}{}
	list := s.all()
	s.guard, s.box, s.old = nil, nil, nil
	s.notes = append(s.notes, fmt.Sprintf(
		"The session's /tmp held more than %d MiB. All commands of the session were ended, and /tmp was emptied.", s.bound.most>>20))
	<-s.turn
	for _, c := range list {
		c.close()
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		_ = removeAll(filepath.Join(dir, e.Name()))
	}
}

// Notes returns what has happened to the session's programs that they do not know, and forgets it.
func (s *Session) Notes() []string {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	notes := s.notes
	s.notes = nil
	return notes
}
