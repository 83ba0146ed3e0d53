package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"dragoman/core/datadir"
)

// keepsIndex says that the index may stay open between changes. Windows cannot replace an open file.
const keepsIndex = runtime.GOOS != "windows"

// kept is the open index with its lock, as the last change of this process has left them: so most changes
// neither open nor read anything. It belongs to whoever has Store.indexing.
type kept struct {
	lock   *heldLock // released; nil: it is not open
	file   *file     // nil: it is not open
	info   fs.FileInfo
	size   int64 // bytes of file that are whole lines
	base   int64 // indexHeader.Size
	synced int64 // bytes of file that are durable, as far as is known
}

func indexPath(root string) string { return filepath.Join(root, "index.jsonl") }

// changeIndex calls change while no one else may change the index.
func (s *Store) changeIndex(ctx context.Context, change func(root string) error) error {
	root, err := s.find(false)
	if err != nil {
		return err
	}
	select {
	case s.indexing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.indexing }()
	held, err := s.lockIndex(ctx, filepath.Join(root, "index.lock"))
	if err != nil {
		return err
	}
	err = change(root)
	if !keepsIndex {
		return errors.Join(err, s.index.close(), held.unlock())
	}
	if paused := held.pause(); paused != nil {
		return errors.Join(err, paused, held.discard())
	}
	s.index.lock = held
	return err
}

// lockIndex locks the index. It takes the lock from s.index.
func (s *Store) lockIndex(ctx context.Context, path string) (*heldLock, error) {
	if held := s.index.lock; held != nil {
		s.index.lock = nil
		if held.path != path {
			_ = held.discard() // it is not held
		} else if err := held.resume(ctx); !errors.Is(err, datadir.ErrMoved) {
			return held, err
		}
	}
	return s.disk.lock(ctx, path, always)
}

// close closes what is open.
func (k *kept) close() error {
	var err error
	if k.file != nil {
		err = k.file.Close()
	}
	if k.lock != nil {
		err = errors.Join(err, k.lock.discard())
	}
	*k = kept{}
	return err
}

// closeIndex closes the index that is kept open, unless it is being changed right now.
func (s *Store) closeIndex() error {
	select {
	case s.indexing <- struct{}{}:
		defer func() { <-s.indexing }()
		return s.index.close()
	default:
		return nil
	}
}

// appendEntries appends to the index, durably with sync; large means that the index
// should be compacted.
func (s *Store) appendEntries(ctx context.Context, root string, sync bool, all ...indexEntry) (large bool, err error) {
	var lines []byte
	for _, e := range all {
		line, err := e.line()
		if err != nil {
			return false, err
		}
		lines = append(lines, line...)
	}
	index, err := s.openIndex(ctx, root)
	if errors.Is(err, errRebuilding) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if n, err := index.file.Write(lines); err != nil {
		if n > 0 {
			err = errors.Join(err, index.file.cut(index.size))
		}
		return false, errors.Join(err, s.dropIndex())
	}
	index.size += int64(len(lines))
	if sync {
		if err := s.syncIndex(ctx, root); err != nil {
			return false, err
		}
	}
	return index.size > 2*index.base+indexSlack, nil
}

// syncIndex makes all of the index durable.
func (s *Store) syncIndex(ctx context.Context, root string) error {
	index, err := s.openIndex(ctx, root)
	if errors.Is(err, errRebuilding) {
		return nil
	}
	if err != nil || index.synced == index.size {
		return err
	}
	if err := index.file.sync(); err != nil {
		return errors.Join(err, s.dropIndex())
	}
	index.synced = index.size
	return nil
}

// dropIndex closes the index, so that the next change looks at it anew.
func (s *Store) dropIndex() error {
	if s.index.file == nil {
		return nil
	}
	err := s.index.file.Close()
	s.index = kept{lock: s.index.lock}
	return err
}

// openIndex opens the index for appending, and makes it from the logs if it is
// missing. It cuts off an unfinished line that a crash has left at its end.
func (s *Store) openIndex(ctx context.Context, root string) (*kept, error) {
	if s.index.file != nil {
		if s.index.current(indexPath(root)) {
			return &s.index, nil
		}
		if err := s.dropIndex(); err != nil {
			return nil, err
		}
	}
	for tries := 0; ; tries++ {
		index, err := s.disk.open(indexPath(root), os.O_RDWR|os.O_APPEND)
		if err == nil {
			size, base, ok, err := mendTail(index)
			if ok && err == nil {
				s.index.info, err = index.Stat()
			}
			if ok && err == nil {
				s.index.file, s.index.size, s.index.base = index, size, base
				return &s.index, nil
			}
			err = errors.Join(err, index.Close())
			if ok || err != nil {
				return nil, err
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if tries > 0 {
			return nil, fmt.Errorf("%s cannot be used", indexPath(root))
		}
		if s.rebuilds() != nil {
			return nil, errRebuilding
		}
		if err := s.rebuildIndex(ctx, root); err != nil {
			return nil, err
		}
	}
}

// current reports whether the name of the index still refers to the open one, and it ends with a whole line. Other
// processes may have appended to it.
func (k *kept) current(path string) bool {
	now, err := os.Lstat(path)
	if err != nil || !os.SameFile(now, k.info) || now.Size() < k.size {
		return false
	}
	if now.Size() == k.size {
		return true
	}
	var last [1]byte
	if _, err := k.file.ReadAt(last[:], now.Size()-1); err != nil || last[0] != '\n' {
		return false
	}
	k.size = now.Size()
	return true
}

// mendTail makes an index end with a whole line; ok is false if it is damaged. size is that of the index then, and
// base the one in its header.
func mendTail(index *file) (size, base int64, ok bool, err error) {
	h, ok := readIndexHeader(newLines(index))
	if !ok {
		return 0, 0, false, nil
	}
	fi, err := index.Stat()
	if err != nil {
		return 0, 0, false, err
	}
	size = fi.Size()
	for line, err := range backwards(index, size) {
		if err != nil {
			return 0, 0, false, nil // it will be rebuilt
		}
		if line.whole {
			if end := line.at + int64(len(line.text)) + 1; end < size {
				return end, h.Size, true, index.cut(end)
			}
			return size, h.Size, true, nil
		}
	}
	return 0, 0, false, nil
}
