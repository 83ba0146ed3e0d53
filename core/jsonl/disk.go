package jsonl

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"dragoman/core/datadir"
)

// disk is the file system, for all changes. Tests insert a layer that fails call N,
// carries out half of it, or forgets data that was not synced.
type disk struct{ layer layer }

// layer makes the calls in place of the file system, by calling do or not at all.
type layer interface {
	call(c *call, do func() error) error
}

// op names the action of a call.
type op string

const (
	opOpen     op = "open" // for writing; creates the file if it is missing
	opRead     op = "read" // reads from a file that is open for writing
	opWrite    op = "write"
	opCut      op = "cut"
	opSync     op = "sync"
	opClose    op = "close"
	opRename   op = "rename"
	opLink     op = "link"
	opRemove   op = "remove"
	opClear    op = "remove all"
	opMakeDir  op = "make folder"
	opSyncDir  op = "sync folder"
	opLock     op = "lock"
	opUnlock   op = "unlock"
	opTakeLock op = "unlock and remove"
)

// call is one call of the file system.
type call struct {
	op   op
	path string
	to   string        // rename, link: the new name
	flag int           // open
	file *os.File      // the open file; open sets it
	lock *datadir.Lock // lock sets it
	data []byte        // write
	n    int           // write sets it: the number of bytes written
	size int64         // cut
}

func (d disk) call(c *call, do func() error) error {
	if d.layer == nil {
		return do()
	}
	return d.layer.call(c, do)
}

// file is a file that is open for writing.
type file struct {
	*os.File
	disk disk
}

// open opens a file, as openFile does.
func (d disk) open(path string, flag int) (*file, error) {
	c := &call{op: opOpen, path: path, flag: flag}
	err := d.call(c, func() (err error) {
		c.file, err = openFile(path, flag)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &file{c.file, d}, nil
}

// on makes a call on an open file.
func (f *file) on(c *call, do func() error) error {
	c.path, c.file = f.Name(), f.File
	return f.disk.call(c, do)
}

func (f *file) Write(b []byte) (int, error) {
	c := &call{op: opWrite, data: b}
	err := f.on(c, func() (err error) {
		c.n, err = f.File.Write(c.data)
		return err
	})
	return c.n, err
}

func (f *file) ReadAt(b []byte, at int64) (n int, err error) {
	err = f.on(&call{op: opRead}, func() (err error) {
		n, err = f.File.ReadAt(b, at)
		return err
	})
	return n, err
}

// cut shortens the file.
func (f *file) cut(size int64) error {
	return f.on(&call{op: opCut, size: size}, func() error { return truncate(f.File, size) })
}

// sync makes the file's content and its length durable.
func (f *file) sync() error {
	return f.on(&call{op: opSync}, func() error { return syncData(f.File) })
}

func (f *file) Close() error { return f.on(&call{op: opClose}, f.File.Close) }

func (d disk) rename(from, to string) error {
	return d.call(&call{op: opRename, path: from, to: to}, func() error { return os.Rename(from, to) })
}

// link gives a file a second name.
func (d disk) link(from, to string) error {
	return d.call(&call{op: opLink, path: from, to: to}, func() error { return os.Link(from, to) })
}

// remove removes a file; a missing file is no error.
func (d disk) remove(path string) error {
	err := d.call(&call{op: opRemove, path: path}, func() error { return os.Remove(path) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// clear removes a folder with its contents; a missing folder is no error.
func (d disk) clear(dir string) error {
	return d.call(&call{op: opClear, path: dir}, func() error { return os.RemoveAll(dir) })
}

// makeDir makes one folder for this user only, whatever the umask; an existing folder
// is no error. A new one is durable.
func (d disk) makeDir(dir string) error {
	made, err := d.newDir(dir)
	if made {
		err = d.syncDir(filepath.Dir(dir))
	}
	return err
}

// newDir is makeDir of a folder that need not be durable yet; made is false if there is one.
func (d disk) newDir(dir string) (made bool, err error) {
	err = d.call(&call{op: opMakeDir, path: dir}, func() error {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			err = os.Chmod(dir, 0o700)
		}
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// makeDirs makes a folder and those above it. The new ones are only for this user, and
// durable.
func (d disk) makeDirs(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if up := filepath.Dir(dir); up != dir {
		if err := d.makeDirs(up); err != nil {
			return err
		}
	}
	return d.makeDir(dir)
}

// syncDir makes the names in a folder durable.
func (d disk) syncDir(dir string) error {
	return d.call(&call{op: opSyncDir, path: dir}, func() error { return datadir.SyncDir(dir) })
}

// unfinished ends the name of a file that is being written.
const unfinished = ".new"

// replace writes data to a file, as a whole or not at all. With sync the data is
// durable; the name in the folder is not synced.
func (d disk) replace(path string, data []byte, sync bool) error {
	tmp := path + unfinished
	f, err := d.open(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.rename(tmp, path)
	}
	if err != nil {
		_ = d.remove(tmp)
	}
	return err
}

// heldLock is a lock that this process holds.
type heldLock struct {
	file *datadir.Lock
	path string
	disk disk
}

// lock takes a lock. It waits for the lock while worth returns true and ctx is not
// done.
func (d disk) lock(ctx context.Context, path string, worth func() bool) (*heldLock, error) {
	c := &call{op: opLock, path: path}
	err := d.call(c, func() (err error) {
		c.lock, err = datadir.LockWhile(ctx, path, worth)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &heldLock{c.lock, path, d}, nil
}

// always is a worth that waits until the lock is free.
func always() bool { return true }

// unlock releases the lock. Its file stays.
func (h *heldLock) unlock() error {
	return h.disk.call(&call{op: opUnlock, path: h.path, lock: h.file}, h.file.Unlock)
}

// pause releases the lock and keeps its file open, for resume.
func (h *heldLock) pause() error {
	return h.disk.call(&call{op: opUnlock, path: h.path, lock: h.file}, h.file.Pause)
}

// resume takes the lock again after pause. With an error it is closed, and must be taken by its name.
func (h *heldLock) resume(ctx context.Context) error {
	c := &call{op: opLock, path: h.path}
	return h.disk.call(c, func() error {
		err := h.file.Resume(ctx)
		if err == nil {
			c.lock = h.file
		}
		return err
	})
}

// discard closes the file of a lock that is not held.
func (h *heldLock) discard() error { return h.file.Discard() }

// remove releases the lock and removes its file, after its session was removed.
func (h *heldLock) remove() error {
	return h.disk.call(&call{op: opTakeLock, path: h.path, lock: h.file}, h.file.Remove)
}
