package jsonl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/datadir"
)

// fault is a way in which a call of the file system fails.
type fault string

const (
	fails      fault = "fails"                 // does nothing
	failsLate  fault = "fails when it is done" // succeeds, but returns an error
	fallsShort fault = "falls short"           // a write that writes half
	diesBefore fault = "dies before"           // the process dies
	diesAfter  fault = "dies after"
	diesShort  fault = "dies half way" // of a write
)

var errDead = errors.New("the process is dead")

// faultyDisk is a file system of which one call fails. Nothing is really synced.
type faultyDisk struct {
	mu  sync.Mutex // one call at a time: the first sync of a session makes some side by side
	at  int        // the call, from 1; 0: none
	how fault

	calls  int
	writes map[int]bool // the calls that write data
	hit    string       // the call that failed
	dead   bool
	files  map[*os.File]bool      // open
	locks  map[*datadir.Lock]bool // held
}

func newFaulty(at int, how fault) *faultyDisk {
	return &faultyDisk{
		at: at, how: how, writes: map[int]bool{}, files: map[*os.File]bool{}, locks: map[*datadir.Lock]bool{},
	}
}

func (l *faultyDisk) call(c *call, do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errDead
	}
	l.calls++
	if len(c.data) > 0 {
		l.writes[l.calls] = true
	}
	if c.op == opSync || c.op == opSyncDir {
		do = func() error { return nil }
	}
	if l.calls != l.at || (l.how == fallsShort || l.how == diesShort) && len(c.data) == 0 {
		return l.does(c, do)
	}
	l.hit = fmt.Sprintf("call %d, %s %s, %s", l.calls, c.op, filepath.Base(c.path), l.how)
	injected := &os.PathError{Op: string(c.op), Path: c.path, Err: syscall.EIO}
	switch l.how {
	case fails:
		if c.op == opClose || c.op == opUnlock || c.op == opTakeLock { // these end in any case
			_ = l.does(c, do)
		}
		return injected
	case failsLate:
		if l.does(c, do) == nil && c.op == opOpen {
			delete(l.files, c.file)
			_ = c.file.Close()
		} else if c.op == opLock && c.lock != nil {
			delete(l.locks, c.lock)
			_ = c.lock.Unlock()
		}
		return injected
	case fallsShort:
		c.data = c.data[:len(c.data)/2]
		_ = l.does(c, do)
		injected.Err = syscall.ENOSPC
		return injected
	case diesAfter:
		_ = l.does(c, do)
	case diesShort:
		c.data = c.data[:len(c.data)/2]
		_ = l.does(c, do)
	case diesBefore:
	}
	l.die()
	return errDead
}

func (l *faultyDisk) does(c *call, do func() error) error {
	err := do()
	switch c.op {
	case opOpen:
		if err == nil {
			l.files[c.file] = true
		}
	case opClose:
		delete(l.files, c.file)
	case opLock:
		if err == nil {
			l.locks[c.lock] = true
		}
	case opUnlock, opTakeLock:
		delete(l.locks, c.lock)
	case opRead, opWrite, opCut, opSync, opRename, opLink, opRemove, opClear, opMakeDir, opSyncDir:
	}
	return err
}

// die releases the locks and files of a process that dies.
func (l *faultyDisk) die() {
	l.dead = true
	for f := range l.files {
		_ = f.Close()
	}
	for held := range l.locks {
		_ = held.Unlock()
	}
}

// run records the calls of a process on a data folder, and their results.
type run struct {
	t     *testing.T
	store *Store
	dead  func() bool

	created, deleted map[core.SessionID]bool // as reported to the process
	begun            map[core.SessionID]bool // whatever was reported
	deleting         map[core.SessionID]bool
	acked            map[core.SessionID][]string // the written records
	synced           map[core.SessionID]int      // how many of them are synced
	under            map[core.SessionID][]string // the records being written when the process died
	epoch            uint64
}

func newRun(t *testing.T, dir string, l layer, dead func() bool) *run {
	s := New(dir)
	s.disk.layer, s.maxBody = l, 2000
	return &run{
		t: t, store: s, dead: dead, created: map[core.SessionID]bool{}, deleted: map[core.SessionID]bool{}, begun: map[core.SessionID]bool{},
		deleting: map[core.SessionID]bool{}, acked: map[core.SessionID][]string{}, synced: map[core.SessionID]int{}, under: map[core.SessionID][]string{},
	}
}

// again calls a function, and once more if it fails: only one call fails.
func (r *run) again(what string, do func() error) bool {
	r.t.Helper()
	err := do()
	if err != nil && !r.dead() {
		err = do()
	}
	if err != nil && !r.dead() {
		r.t.Errorf("%s fails twice: %v", what, err)
	}
	return err == nil
}

// play does everything that processes do with sessions.
func (r *run) play() {
	first := r.create("s1")
	r.own(first, "s1", notices(2), notices(1), []core.Event{core.Notice{Text: strings.Repeat("big ", 1000)}}, notices(1), notices(1))
	r.create("s2")
	if first != nil && !r.dead() {
		r.again("Note", func() error {
			return r.store.Note(context.Background(), core.Local, core.Summary{ID: "s1", Cwd: "/x", Title: "noted"})
		})
	}
	r.own(first, "s1", notices(3))
	for range r.store.List(context.Background(), core.Local) {
		continue
	}
	for _, id := range []core.SessionID{"s2", "s3"} {
		if id == "s3" {
			r.create(id)
		}
		r.deleting[id] = true
		r.deleted[id] = !r.dead() && r.again("Delete", func() error { return r.store.Delete(context.Background(), core.Local, id) })
		if r.dead() {
			return
		}
	}
	r.create("s4")
	if !r.dead() {
		_ = r.store.Close() // its death releases what it could not release
	}
}

func (r *run) create(id core.SessionID) (j *journal) {
	if r.dead() {
		return nil
	}
	r.begun[id] = true
	r.created[id] = r.again("Create", func() error {
		made, err := r.store.Create(context.Background(), core.Meta{ID: id, Principal: core.Local, Cwd: "/x", Created: time.Unix(1, 0)})
		if err == nil {
			j = made.(*journal)
		}
		return err
	})
	return j
}

// own claims a session, writes batches of notices, and releases it.
func (r *run) own(j *journal, id core.SessionID, batches ...[]core.Event) {
	if j == nil || r.dead() {
		return
	}
	claim := func() error {
		epoch, err := j.Claim(context.Background())
		r.epoch = max(r.epoch, epoch)
		return err
	}
	if !r.again("Claim", claim) {
		return
	}
	batches[0] = append([]core.Event{core.Claimed{Epoch: r.epoch}}, batches[0]...)
	for i, batch := range batches {
		var said []string
		c := j.claimed()
		at := c.end
		var records []core.Record
		for k, ev := range batch {
			if n, ok := ev.(core.Notice); ok {
				n.Text = fmt.Sprint(len(r.acked[id])+k, " ", n.Text)
				ev = n
			}
			records = append(records, core.Record{Epoch: r.epoch, Seq: at.Seq + uint64(k), Time: time.Unix(2, 0), Event: ev})
			said = append(said, saidBy(ev))
		}
		r.under[id] = said
		if !r.again("Write", func() error { return j.Write(context.Background(), records) }) {
			return
		}
		r.acked[id], r.under[id] = append(r.acked[id], said...), nil
		if i > 0 && i < len(batches)-1 { // several at once
			continue
		}
		if err := r.sync(j); err == nil {
			r.synced[id] = len(r.acked[id])
			continue
		}
		if r.dead() { // else nothing more is written under this claim
			return
		}
		_ = j.Release()
		if !r.again("Claim after a sync that failed", claim) {
			return
		}
	}
	if err := j.Release(); err != nil && !r.dead() {
		return // the next claim takes it over
	}
}

// sync syncs a log. After a failure the content of the disk is unknown: nothing is
// acknowledged, not by the next sync either, and nothing more is written.
func (r *run) sync(j *journal) error {
	l, ok := r.store.disk.layer.(*faultyDisk)
	before := ok && l.hit == ""
	err := j.Sync(context.Background())
	if !before || l.hit == "" || l.dead {
		return err
	}
	c := j.claimed()
	next := core.Record{Epoch: c.epoch, Seq: c.end.Seq, Event: core.Notice{Text: "refused"}}
	if again, more := j.Sync(context.Background()), j.Write(context.Background(), []core.Record{next}); err == nil || again == nil || more == nil {
		r.t.Errorf("a sync has failed: it says %v, the next one %v, and a write %v", err, again, more)
	}
	return err
}

// another is the text of another process that writes to the same session.
const another = "another process"

func saidBy(ev core.Event) string {
	switch ev := ev.(type) {
	case core.Notice:
		if ev.Text == another {
			return "by another: a notice"
		}
		return ev.Text[:min(len(ev.Text), 20)]
	case core.Claimed:
		if ev.Node == another {
			return "by another: claimed"
		}
		return fmt.Sprint("claimed ", ev.Epoch)
	}
	return fmt.Sprintf("%T", ev)
}

func saidIn(records []core.Record) (said []string) {
	for _, r := range records[1:] { // Opened
		if text := saidBy(r.Event); !strings.HasPrefix(text, "by another") {
			said = append(said, text)
		}
	}
	return said
}

// check opens the data folder of a process, as another one does, and compares it with
// the results reported to the first one. Everything acknowledged must be there, and
// nothing that was refused. Records being written when it died may be there, all or
// the first of them; a session that was being created or deleted may be there or not.
func (r *run) check(dir string) {
	r.t.Helper()
	s := New(dir)
	s.disk.layer = newFaulty(0, fails)
	listed := map[core.SessionID]bool{}
	for _, sum := range listAll(r.t, s) {
		listed[sum.ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(r.begun)) {
		opened, err := s.Open(r.t.Context(), core.Local, id)
		there := err == nil
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			r.t.Errorf("Open %s: %v", id, err)
			continue
		}
		switch {
		case r.deleted[id] && there:
			r.t.Errorf("session %s was deleted and is there", id)
		case r.created[id] && !r.deleting[id] && !there:
			r.t.Errorf("session %s was made and is gone", id)
		case !r.created[id] && !r.dead() && there:
			r.t.Errorf("session %s was refused and is there", id)
		}
		if there != listed[id] {
			r.t.Errorf("session %s is there: %v; it is listed: %v", id, there, listed[id])
		}
		if there {
			r.checkLog(opened.(*journal), id)
		}
		if err := s.Delete(r.t.Context(), core.Local, id); err != nil {
			r.t.Errorf("Delete %s: %v", id, err)
		}
	}
	if exists(indexPath(dir)) {
		if err := s.changeIndex(r.t.Context(), func(root string) error { return s.sweep(r.t.Context(), root) }); err != nil {
			r.t.Errorf("sweep: %v", err)
		}
		for _, name := range left(r.t, dir, nil) {
			if !strings.HasPrefix(name, "index.") {
				r.t.Errorf("%s is left", name)
			}
		}
	}
}

func (r *run) checkLog(j *journal, id core.SessionID) {
	r.t.Helper()
	got := saidIn(readAll(r.t, j))
	acked, under := r.acked[id], r.under[id]
	if len(got) < len(acked) || !slices.Equal(got[:len(acked)], acked) {
		r.t.Errorf("session %s has\n%q\nand reported\n%q", id, got, acked)
		return
	}
	if more := got[len(acked):]; len(more) > len(under) || !slices.Equal(more, under[:len(more)]) || len(more) > 0 && !r.dead() {
		r.t.Errorf("session %s has %q beyond what was acknowledged; %q was under way", id, more, under)
	}
	epoch, err := j.Claim(r.t.Context())
	if err != nil || epoch <= r.epoch && slices.Contains(acked, fmt.Sprint("claimed ", r.epoch)) {
		r.t.Errorf("Claim %s: epoch %d after %d, %v", id, epoch, r.epoch, err)
		return
	}
	next := core.Record{Epoch: epoch, Seq: j.claimed().end.Seq, Event: core.Claimed{Epoch: epoch}}
	if err := errors.Join(j.Write(r.t.Context(), []core.Record{next}), j.Sync(r.t.Context()), j.Release()); err != nil {
		r.t.Errorf("going on with %s: %v", id, err)
	}
	if after := saidIn(readAll(r.t, j)); len(after) != len(got)+1 {
		r.t.Errorf("session %s has %d records, and %d when it has gone on", id, len(got), len(after))
	}
}

// inMemory returns a folder in memory, so that no disk slows it down, if the system
// has one.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "dragoman-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestEveryCallFails makes each call of the file system fail, fall short or kill
// the process once. A living process that gets the error tries again and succeeds; a
// dead one loses nothing that was acknowledged. After each, another process opens the
// folder, compares it with the acknowledged results, continues and deletes the
// session.
func TestEveryCallFails(t *testing.T) {
	counting := newFaulty(0, fails)
	whole := newRun(t, filepath.Join(inMemory(t), "data"), counting, func() bool { return false })
	whole.play()
	if n := len(whole.acked["s1"]); n != 11 || counting.calls < 100 {
		t.Fatalf("%d records in %d calls", n, counting.calls)
	}
	tried, dir := 0, filepath.Join(inMemory(t), "data")
	for _, how := range []fault{fails, failsLate, fallsShort, diesBefore, diesAfter, diesShort} {
		for n := 1; n <= counting.calls; n++ {
			if (how == fallsShort || how == diesShort) && !counting.writes[n] {
				continue // nothing would fail
			}
			l := newFaulty(n, how)
			if !t.Run(fmt.Sprint(how, " ", n), func(t *testing.T) {
				r := newRun(t, dir, l, func() bool { return l.dead })
				r.play()
				if l.hit == "" {
					return // not a write
				}
				tried++
				r.check(dir)
				if t.Failed() {
					t.Log(l.hit)
				}
			}) {
				continue
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d faults in %d calls", tried, counting.calls)
}
