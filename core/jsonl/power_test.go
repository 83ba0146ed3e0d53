package jsonl

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/core"
)

// volatileDisk is a file system that records syncs, so that power can be cut: a change of
// a file is durable when the file was synced, a name when its folder was. Of all
// others any may be lost, in any order. Nothing is really synced.
type volatileDisk struct {
	mu    sync.Mutex // one call at a time: the first sync of a session makes some side by side
	root  string
	inner *faultyDisk // determines the call at which the power is cut

	names map[string]*node // the current ones, by path below root
	log   []change         // since the beginning
}

// node is a file or a folder.
type node struct {
	folder bool
	size   int64 // the current size
}

// change is a change that may be lost until durable is set.
type change struct {
	durable bool
	file    *node  // whose content changes; nil: names change
	at      int64  // the offset of the data, or the new size
	data    []byte // nil: the file is cut
	gone    string // a name that no longer exists; "": none
	name    string // a name that refers to node afterwards; "": none
	node    *node
}

func newVolatile(root string, at int) *volatileDisk {
	return &volatileDisk{root: root, inner: newFaulty(at, diesAfter), names: map[string]*node{}}
}

func (v *volatileDisk) call(c *call, do func() error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, err := os.Lstat(c.path)
	fresh := errors.Is(err, fs.ErrNotExist)
	done := func() error {
		err := do()
		if err == nil || c.n > 0 {
			v.note(c, fresh)
		}
		return err
	}
	if c.op == opSync || c.op == opSyncDir {
		v.inner.calls++
		if v.inner.dead {
			return errDead
		}
		v.note(c, fresh)
		if v.inner.calls == v.inner.at {
			v.inner.die()
			return errDead
		}
		return nil
	}
	return v.inner.call(c, done)
}

// below returns a path in the form of names.
func (v *volatileDisk) below(path string) string {
	rel, err := filepath.Rel(v.root, path)
	if err != nil {
		return path
	}
	return rel
}

func (v *volatileDisk) note(c *call, fresh bool) {
	path := v.below(c.path)
	n := v.names[path]
	switch c.op {
	case opOpen:
		switch {
		case fresh:
			n = &node{}
			v.names[path] = n
			v.log = append(v.log, change{name: path, node: n})
		case c.flag&os.O_TRUNC != 0:
			n.size = 0
			v.log = append(v.log, change{file: n})
		}
	case opWrite:
		v.log = append(v.log, change{file: n, at: n.size, data: slices.Clone(c.data[:c.n])})
		n.size += int64(c.n)
	case opCut:
		n.size = c.size
		v.log = append(v.log, change{file: n, at: c.size})
	case opSync:
		for i := range v.log {
			v.log[i].durable = v.log[i].durable || v.log[i].file == n
		}
	case opSyncDir:
		for i, ch := range v.log {
			if ch.file == nil && (ch.name != "" && filepath.Dir(ch.name) == path || ch.gone != "" && filepath.Dir(ch.gone) == path) {
				v.log[i].durable = true
			}
		}
	case opRename:
		to := v.below(c.to)
		v.names[to] = n
		delete(v.names, path)
		v.log = append(v.log, change{gone: path, name: to, node: n})
	case opRemove:
		delete(v.names, path)
		v.log = append(v.log, change{gone: path})
	case opClear:
		for name := range v.names {
			if name == path || strings.HasPrefix(name, path+string(filepath.Separator)) {
				delete(v.names, name)
				v.log = append(v.log, change{gone: name})
			}
		}
	case opMakeDir:
		n = &node{folder: true}
		v.names[path] = n
		v.log = append(v.log, change{name: path, node: n})
	case opRead, opClose, opLock, opUnlock, opTakeLock: // locks are not data
	}
}

// after writes the files that exist when power returns. keep decides which of the
// unsynced changes are on the medium.
func (v *volatileDisk) after(t *testing.T, dir string, keep func() bool) {
	t.Helper()
	names, contents := map[string]*node{}, map[*node][]byte{}
	for _, ch := range v.log {
		if !ch.durable && !keep() {
			continue
		}
		if ch.file != nil {
			b := contents[ch.file]
			if end := int(ch.at) + len(ch.data); ch.data == nil {
				b = append(b, make([]byte, max(0, end-len(b)))...)[:end]
			} else if end > len(b) {
				b = append(b, make([]byte, end-len(b))...)
			}
			copy(b[ch.at:], ch.data)
			contents[ch.file] = b
			continue
		}
		delete(names, ch.gone)
		if ch.name != "" {
			names[ch.name] = ch.node
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) { // a folder before its contents
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(filepath.Dir(path)); err != nil {
			continue // its folder is lost
		}
		write := func() error { return os.WriteFile(path, contents[names[name]], 0o600) }
		if names[name].folder {
			write = func() error { return os.Mkdir(path, 0o700) }
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkPower compares the files after a power cut with the results reported to the
// process. A session that was synced exists and is listed, a deleted one does not, and records
// written before a successful sync are there, in order, and listed. Anything written
// after the last sync may be missing, any part of it, so that the log may be damaged
// there; then it can be read and is not continued. A session that was never synced may be
// missing, or its list entry, or its beginning; its id can be used again.
func (r *run) checkPower(dir string) (damaged bool) {
	r.t.Helper()
	s := New(dir)
	s.disk.layer = newFaulty(0, fails)
	listed := ids(listAll(r.t, s))
	for _, id := range slices.Sorted(maps.Keys(r.begun)) {
		opened, err := s.Open(r.t.Context(), core.Local, id)
		sure := r.acked[id][:r.synced[id]]
		switch {
		case errors.Is(err, core.ErrNotFound):
			if len(sure) > 0 && !r.deleting[id] {
				r.t.Errorf("session %s was synced and is gone", id)
			}
			if slices.Contains(listed, id) {
				r.t.Errorf("session %s is gone and listed", id)
			}
			r.checkNew(s, id)
			continue
		case errors.Is(err, errHead) && len(sure) == 0:
			damaged = true
			if err := s.Delete(r.t.Context(), core.Local, id); err != nil {
				r.t.Errorf("Delete %s without its beginning: %v", id, err)
			}
			r.checkNew(s, id)
			continue
		case err != nil:
			r.t.Errorf("Open %s: %v", id, err)
			continue
		case r.deleted[id]:
			r.t.Errorf("session %s was deleted and is there", id)
		case len(sure) > 0 && !slices.Contains(listed, id):
			r.t.Errorf("session %s is there and not listed", id)
		}
		got := saidIn(readAll(r.t, opened))
		if len(got) < len(sure) || !slices.Equal(got[:len(sure)], sure) {
			r.t.Errorf("session %s has\n%q\nand these were synced\n%q", id, got, sure)
		}
		_, err = opened.Claim(r.t.Context())
		damaged = damaged || errors.Is(err, core.ErrReadOnly)
		if err != nil && !errors.Is(err, core.ErrReadOnly) {
			r.t.Errorf("Claim %s: %v", id, err)
		}
		if err := errors.Join(opened.Close(), s.Delete(r.t.Context(), core.Local, id)); err != nil {
			r.t.Errorf("Delete %s: %v", id, err)
		}
	}
	return damaged
}

// checkNew makes a session in the place of one that is gone.
func (r *run) checkNew(s *Store, id core.SessionID) {
	r.t.Helper()
	j, err := s.Create(r.t.Context(), core.Meta{ID: id, Principal: core.Local, Cwd: "/x", Created: time.Unix(3, 0)})
	if err != nil {
		r.t.Errorf("Create %s, which is gone: %v", id, err)
		return
	}
	if !slices.Contains(ids(listAll(r.t, s)), id) {
		r.t.Errorf("session %s was made again and is not listed", id)
	}
	if got := readAll(r.t, j.(*journal)); len(got) != 1 {
		r.t.Errorf("session %s was made again and has %d records", id, len(got))
	}
	if err := errors.Join(j.Close(), s.Delete(r.t.Context(), core.Local, id)); err != nil {
		r.t.Errorf("Delete %s, which was made again: %v", id, err)
	}
}

// TestPowerCut cuts the power after each call of the file system. Of the unsynced
// changes none, all, or a random selection are on the medium.
func TestPowerCut(t *testing.T) {
	dir := filepath.Join(inMemory(t), "data")
	whole := newVolatile(filepath.Dir(dir), 0)
	newRun(t, dir, whole, func() bool { return false }).play()
	cuts(t, whole.inner.calls, 1, rand.New(rand.NewPCG(1, 2)))
}

// cuts tries each of the calls, with several random selections.
func cuts(t *testing.T, calls, chances int, rnd *rand.Rand) {
	t.Helper()
	base := inMemory(t)
	dir, after := filepath.Join(base, "data"), filepath.Join(base, "after")
	tried, damaged := 0, 0
	for n := 1; n <= calls; n++ {
		v := newVolatile(base, n)
		r := newRun(t, dir, v, func() bool { return v.inner.dead })
		r.play()
		for chance := range 2 + chances {
			keep := func() bool { return chance == 0 || chance > 1 && rnd.IntN(2) == 0 }
			v.after(t, after, keep)
			if r.checkPower(filepath.Join(after, "data")) {
				damaged++
			}
			if t.Failed() {
				t.Fatalf("%s, chance %d", v.inner.hit, chance)
			}
			tried++
			if err := os.RemoveAll(after); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d power cuts; after %d of them a log could only be read", tried, damaged)
}

// TestTorturePowerCut cuts it repeatedly, with other random selections.
func TestTorturePowerCut(t *testing.T) {
	end := torture(t)
	dir := filepath.Join(inMemory(t), "data")
	whole := newVolatile(filepath.Dir(dir), 0)
	newRun(t, dir, whole, func() bool { return false }).play()
	for seed := uint64(1); time.Now().Before(end) && !t.Failed(); seed++ {
		cuts(t, whole.inner.calls, 4, rand.New(rand.NewPCG(seed, 3)))
	}
}

// torture returns the end of a long test. Such tests run only with "make torture".
func torture(t *testing.T) time.Time {
	t.Helper()
	d, err := time.ParseDuration(os.Getenv("DRAGOMAN_TORTURE"))
	if err != nil {
		t.Skip("make torture runs this")
	}
	return time.Now().Add(d)
}
