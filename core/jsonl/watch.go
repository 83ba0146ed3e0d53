package jsonl

import (
	"context"
	"os"
	"sync"
	"time"

	"dragoman/core"
)

const (
	// lookOwned is the time between two checks of the log of a session that another
	// process owns.
	lookOwned = 100 * time.Millisecond
	// lookIndex is the time between two checks of the index while no watched session
	// has an owner.
	lookIndex = 200 * time.Millisecond
)

// watches are the sessions with readers that wait for additions of other processes.
// While there are any, one goroutine checks their files.
type watches struct {
	wg sync.WaitGroup

	mu   sync.Mutex // guards the fields below
	all  map[*watch]struct{}
	stop chan struct{} // closed to end the goroutine; nil: there is none

	index os.FileInfo // at the last check; nil: it did not exist. Only the goroutine uses it
}

// watch is one session that is watched. Once it is added only the goroutine uses it.
type watch struct {
	files   files
	changed func()
	done    <-chan struct{}

	marked time.Time // when the session was last marked as watched

	// At the last check:
	size  int64       // of the log; -1: it did not exist
	file  os.FileInfo // of the owner; nil: it did not exist
	owner owner       // the content of that file
	owned bool        // another process owns the session; with a file and false, its owner has died
}

// Watch implements core.Journal. While another process owns the session, its log is
// checked every 100 ms. While it has no owner, only the index is, every 200 ms and for
// all such sessions together: a process that claims a session touches the index.
func (j *journal) Watch(ctx context.Context, after core.Pos, changed func()) {
	w := &watch{files: j.files, changed: changed, done: ctx.Done(), size: -1}
	j.mu.Lock()
	if at := j.read; at != nil && at.end.Seq == after.Seq && at.end.Off == after.Off {
		w.size = at.size
	}
	j.mu.Unlock()
	w.mark()
	if w.look() {
		changed()
	}
	j.store.watches.add(w, j.store)
}

func (ws *watches) add(w *watch, s *Store) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.all == nil {
		ws.all = map[*watch]struct{}{}
	}
	ws.all[w] = struct{}{}
	if ws.stop == nil {
		stop := make(chan struct{})
		ws.stop = stop
		ws.wg.Go(func() { ws.run(s, stop) })
	}
}

// run checks until nothing is watched, or stop is closed.
func (ws *watches) run(s *Store, stop <-chan struct{}) {
	next := time.NewTimer(lookOwned)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-stop:
			return
		}
		list := ws.list()
		if len(list) == 0 {
			return
		}
		if _, owned := ws.look(s, list); owned {
			next.Reset(lookOwned)
		} else {
			next.Reset(lookIndex)
		}
	}
}

// list returns the sessions that are still watched. If there are none, the goroutine
// must end.
func (ws *watches) list() []*watch {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	list := make([]*watch, 0, len(ws.all))
	for w := range ws.all {
		select {
		case <-w.done:
			delete(ws.all, w)
		default:
			list = append(list, w)
		}
	}
	if len(list) == 0 {
		ws.stop = nil
	}
	return list
}

// look checks the index, and the logs that may have grown. It returns the number of
// these logs, and whether another process owns one of the sessions.
func (ws *watches) look(s *Store, list []*watch) (looked int, owned bool) {
	touched := ws.touched(s)
	for _, w := range list {
		w.mark()
		if w.owned || touched {
			looked++
			if w.look() {
				w.changed()
			}
		}
		owned = owned || w.owned
	}
	return looked, owned
}

// touched reports whether the index has changed since the last look.
func (ws *watches) touched(s *Store) bool {
	was := ws.index
	ws.index = nil
	if root, err := s.find(false); err == nil {
		ws.index, _ = os.Lstat(indexPath(root))
	}
	return !same(was, ws.index)
}

// same reports whether a file is unchanged. nil: it does not exist.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// close ends the goroutine and waits for that.
func (ws *watches) close() {
	ws.mu.Lock()
	if ws.stop != nil {
		close(ws.stop)
		ws.stop = nil
	}
	clear(ws.all)
	ws.mu.Unlock()
	ws.wg.Wait()
}

// mark marks the session as watched, if that is due.
func (w *watch) mark() {
	if now := time.Now(); now.Sub(w.marked) >= markEvery {
		w.marked = now
		w.files.mark()
	}
}

// look reports whether the size of the log has changed since the last check, or its
// owner has released it or died since.
func (w *watch) look() bool {
	file, _ := os.Lstat(w.files.owner) // nil: it does not exist
	if !same(file, w.file) {
		w.owner = readOwner(w.files.owner)
	}
	owned := file != nil && w.owner.alive()
	left := w.owned && !owned || file != nil && !owned && !same(file, w.file)
	w.file, w.owned = file, owned
	size := int64(-1)
	if log, err := os.Lstat(w.files.log); err == nil { // after its owner, which may have written last
		size = log.Size()
	}
	grown := size != w.size
	w.size = size
	return grown || left
}

// touch makes other processes check for the claim of a session that they watch. If the
// file system does not allow it, they check when the index gets its next entry.
func (s *Store) touch() {
	if root, err := s.find(false); err == nil {
		now := time.Now()
		_ = os.Chtimes(indexPath(root), now, now)
	}
}
