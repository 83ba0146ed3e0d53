package jsonl

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"dragoman/core"
)

// keepBuf is the largest buffer, in bytes, that is kept between writes.
const keepBuf = 1 << 20

// Write implements core.Journal. Records without a Seq are live only and left out, and
// so are those that are already in the log. When it fails, none of the records is in
// the log, and the same records may be written again; after ErrFenced no more may be
// written.
func (j *journal) Write(ctx context.Context, records []core.Record) error {
	c := j.claimed()
	err := context.Cause(ctx)
	if c == nil {
		err = core.ErrFenced
	}
	if err == nil {
		err = c.write(records, j.files)
	}
	if err != nil {
		return fmt.Errorf("write session %q: %w", j.meta.ID, err)
	}
	return nil
}

// Sync implements core.Journal. The first one of a claim also makes durable that there is such a session.
func (j *journal) Sync(ctx context.Context) error {
	c := j.claimed()
	err := context.Cause(ctx)
	if c == nil {
		err = core.ErrFenced
	}
	var placing error
	var wg sync.WaitGroup // the disk takes syncs side by side in hardly more time than one
	if err == nil && !c.placed.Load() {
		wg.Go(func() { placing = j.store.place(ctx, j.files) })
	}
	if err == nil {
		err = c.sync()
	}
	wg.Wait()
	if err == nil && !c.placed.Load() {
		err = c.settle(placing)
		c.placed.Store(err == nil)
	}
	if err != nil {
		return fmt.Errorf("sync session %q: %w", j.meta.ID, err)
	}
	return nil
}

func (c *claim) sync() error {
	if err := c.brokenBy(); err != nil {
		return err
	}
	return c.settle(c.log.sync())
}

// settle returns the error of a sync, after which nothing more is written.
func (c *claim) settle(err error) error {
	if err != nil {
		c.breakDown(fmt.Errorf("an earlier sync failed, and what the disk has is unknown: %w", err))
	}
	return err
}

// place makes the names of a session's files durable, and its entry in the index.
func (s *Store) place(ctx context.Context, f files) error {
	var named error
	var wg sync.WaitGroup
	wg.Go(func() { named = s.syncFolder(f) })
	listed := s.changeIndex(ctx, func(root string) error { return s.syncIndex(ctx, root) })
	wg.Wait()
	return errors.Join(named, listed)
}

// syncFolder makes the names of a session's files durable.
func (s *Store) syncFolder(f files) error {
	if err := f.disk.syncDir(f.dir); err != nil {
		return err
	}
	s.mu.Lock()
	known := s.durable[f.dir]
	s.mu.Unlock()
	if known {
		return nil
	}
	if err := f.disk.syncDir(filepath.Dir(f.dir)); err != nil {
		return err
	}
	s.mu.Lock()
	s.durable[f.dir] = true
	s.mu.Unlock()
	return nil
}

// buffers lends memory for the lines of one write: a session that is idle holds none.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func (c *claim) write(records []core.Record, f files) error {
	if err := c.brokenBy(); err != nil {
		return err
	}
	fi, err := c.log.Stat()
	switch {
	case err != nil:
		return err
	case fi.Size() != c.size:
		c.breakDown(core.ErrFenced)
		return core.ErrFenced
	case !linked(fi):
		return fmt.Errorf("its log was removed: %w", core.ErrNotFound)
	}
	buf := buffers.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= keepBuf {
			buffers.Put(buf)
		}
	}()
	var end core.Pos
	*buf, end, err = c.encode((*buf)[:0], records, f)
	if err != nil {
		c.enc.Reset()
		return err
	}
	if len(*buf) == 0 {
		return nil
	}
	n, err := c.log.Write(*buf)
	if err != nil {
		return c.cutBack(n, err)
	}
	c.size += int64(n)
	c.end = end
	return nil
}

// encode appends the lines of records to dst, and returns the position after them.
func (c *claim) encode(dst []byte, records []core.Record, f files) ([]byte, core.Pos, error) {
	end := c.end
	for _, r := range records {
		if r.Seq == 0 {
			continue
		}
		next, rest, ok, err := end.Splice(r)
		switch {
		case err != nil:
			return dst, end, err
		case !ok:
			continue
		case r.Epoch != c.epoch:
			return dst, end, fmt.Errorf(
				"record %d is of epoch %d, and the session is claimed under %d",
				r.Seq,
				r.Epoch,
				c.epoch,
			)
		}
		start := len(dst)
		dst = c.enc.Append(dst, rest)
		if len(dst)-start > f.maxBody {
			if dst, err = moveOut(dst, start, f.disk, f.values()); err != nil {
				return dst, end, err
			}
		}
		if dst = seal(dst, start); len(dst)-start > maxLine {
			return dst, end, fmt.Errorf("record %d is too long", r.Seq)
		}
		end = next
	}
	return dst, end, nil
}

// cutBack removes the n bytes of a failed write, so that the log ends with a whole
// line. If that fails as well, nothing more is written: the next owner will cut the
// log.
func (c *claim) cutBack(n int, cause error) error {
	c.enc.Reset()
	if n == 0 {
		return cause
	}
	if err := c.log.cut(c.size); err != nil {
		err = errors.Join(cause, err)
		c.breakDown(fmt.Errorf("an earlier write failed half way: %w", err))
		return err
	}
	return cause
}

func (c *claim) breakDown(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = err
}

func (c *claim) brokenBy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}
