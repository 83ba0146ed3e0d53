package tools

import (
	"runtime"
	"sync"
)

// maxAhead limits the folders that are open because they were read before the walk came to them.
const maxAhead = 64

// ahead reads folders in other goroutines before a walk comes to them. The walk visits what it
// would visit without, in the same order: it only finds some folders read. nil reads nothing.
type ahead struct {
	w *walk

	mu    sync.Mutex // guards the fields below
	more  sync.Cond  // todo, open or ended has changed
	todo  []*folder  // to be read, the last one first
	open  int        // the number of those that are being read, or were and the walk has not come to them
	ended bool
}

// readAhead makes a walk read ahead. pick and the rules are then asked in several goroutines.
func (w *walk) readAhead(pick func(e *entry) (visit, into bool)) {
	w.pick, w.ahead = pick, &ahead{}
	w.ahead.more.L = &w.ahead.mu
}

// start starts the goroutines for a walk; end ends them, and waits for that.
func (a *ahead) start(w *walk) (end func()) {
	a.w = w
	var readers sync.WaitGroup
	for range workers() {
		readers.Go(func() {
			for f := a.next(); f != nil; f = a.next() {
				a.w.fill(f)
				a.add(f) // before the walk, which drops the list when it has left the folder
				close(f.read)
			}
		})
	}
	return func() {
		a.mu.Lock()
		a.ended = true
		a.mu.Unlock()
		a.more.Broadcast()
		readers.Wait()
	}
}

// workers returns the number of goroutines that search files, and of those that read folders.
func workers() int { return min(max(runtime.GOMAXPROCS(0), 2), 8) }

// next waits for a folder to read; nil: there are no more.
func (a *ahead) next() *folder {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		for !a.ended && (len(a.todo) == 0 || a.open >= maxAhead) {
			a.more.Wait()
		}
		if a.ended {
			return nil
		}
		last := len(a.todo) - 1
		f := a.todo[last]
		a.todo[last] = nil
		if a.todo = a.todo[:last]; f.take() {
			a.open++
			return f
		}
	}
}

// add has the folders in a folder that was read be read, too.
func (a *ahead) add(f *folder) {
	if a == nil {
		return
	}
	n := 0
	a.mu.Lock()
	for i := len(f.list) - 1; i >= 0; i-- {
		if sub := f.list[i].sub; sub != nil {
			a.todo = append(a.todo, sub)
			n++
		}
	}
	a.mu.Unlock()
	if n == 1 {
		a.more.Signal()
	} else if n > 1 {
		a.more.Broadcast()
	}
}

// gone says that the walk has come to a folder that was read ahead.
func (a *ahead) gone() {
	a.mu.Lock()
	a.open--
	a.mu.Unlock()
	a.more.Signal()
}
