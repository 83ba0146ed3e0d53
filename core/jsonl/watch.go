package jsonl

import (
	"context"
	"os"
	"sync"
	"time"

	"dragoman/core"
)

const (
	// lookOwned is the time between two looks at the log of a session that another process owns.
	lookOwned = 100 * time.Millisecond
	// lookIndex is the time between two looks at the index while no watched session has an owner.
	lookIndex = 200 * time.Millisecond
)

// watches are the sessions whose readers wait for what other processes add. While there are any,
// one goroutine looks at their files.
type watches struct {
	wg sync.WaitGroup

	mu   sync.Mutex // guards the fields below
	all  map[*watch]struct{}
	stop chan struct{} // ends the goroutine when it is closed; nil: there is none

	index os.FileInfo // as it was at the last look; nil: it was not there. The goroutine's alone
}

// watch is one session that is watched. Once it is added it is the goroutine's alone.
type watch struct {
	files   files
	changed func()
	done    <-chan struct{}

	// As it was at the last look:
	size  int64       // of the log; -1: it was not there
	file  os.FileInfo // of the owner; nil: it was not there
	owner owner       // as that file says
	owned bool        // another process owns the session; with a file and false, its owner has died
}

// Watch implements core.Journal. While another process owns the session, its log is looked at
// every 100 ms. While nobody does, only the index is, every 200 ms and for all such sessions
// together: whoever claims a session touches it.
func (j *journal) Watch(ctx context.Context, after core.Pos, changed func()) {
	w := &watch{files: j.files, changed: changed, done: ctx.Done(), size: -1}
	j.mu.Lock()
	if at := j.read; at != nil && at.end.Seq == after.Seq && at.end.Off == after.Off {
		w.size = at.size
	}
	j.mu.Unlock()
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

// run looks until nothing is watched, or stop is closed.
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

// list returns what is still watched. If it returns nothing, the goroutine must end.
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

// look looks at the index, and at those logs that may have grown. It returns how many these
// were, and whether another process owns one of the sessions.
func (ws *watches) look(s *Store, list []*watch) (looked int, owned bool) {
	touched := ws.touched(s)
	for _, w := range list {
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

// same reports whether a file is as it was. nil: it is not there.
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

// look reports whether the log has another size than at the last look, or its owner has left it or
// died since.
func (w *watch) look() bool {
	file, _ := os.Lstat(w.files.owner) // nil: it is not there
	if !same(file, w.file) {
		w.owner = readOwner(w.files.owner)
	}
	owned := file != nil && w.owner.alive()
	left := w.owned && !owned || file != nil && !owned && !same(file, w.file)
	w.file, w.owned = file, owned
	size := int64(-1)
	if log, err := os.Lstat(w.files.log); err == nil { // behind its owner, which may have written last
		size = log.Size()
	}
	grown := size != w.size
	w.size = size
	return grown || left
}

// touch has those look who watch a session that was just claimed. Where the file system does not
// allow it, they look when the index gets its next entry.
func (s *Store) touch() {
	if root, err := s.find(false); err == nil {
		now := time.Now()
		_ = os.Chtimes(indexPath(root), now, now)
	}
}
