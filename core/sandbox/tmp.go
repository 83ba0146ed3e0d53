package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dragoman/core/datadir"
)

// tmpFolder is a folder that programs see as /tmp. A lock beside it says that it is used: what a killed
// process has left is removed by whoever looks next. The processes that use a session in turn share the
// lock, because one whose session rests keeps its sandbox.
type tmpFolder struct {
	dir  string
	lock *datadir.Lock
}

const (
	lockSuffix = ".lock"
	sweepTime  = 10 * time.Second // for another process to have removed a folder of that name, which nobody used
)

// newTmpFolder makes the folder. remove must follow.
func newTmpFolder(dir string) (*tmpFolder, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	lock, err := datadir.WaitShared(ctx, dir+lockSuffix)
	if err != nil {
		return nil, fmt.Errorf("use %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		_ = lock.Unlock()
		return nil, err
	}
	return &tmpFolder{dir, lock}, nil
}

// remove gives the folder back. It is removed if no other process uses it.
func (s *tmpFolder) remove() {
	_ = s.lock.Unlock()
	removeUnused(s.dir)
}

// removeUnused removes a folder that nobody uses.
func removeUnused(dir string) {
	if lock, err := datadir.TryLock(dir + lockSuffix); err == nil {
		_ = removeAll(dir)
		_ = lock.Remove()
	}
}

// sweep removes the folders in a folder that nobody uses.
func sweep(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		removeUnused(filepath.Join(folder, strings.TrimSuffix(e.Name(), lockSuffix)))
	}
}
