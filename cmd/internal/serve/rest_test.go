package serve

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Memory is given back once the process rests, if it is much, and not again before it was used.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mib = 1 << 20
		var mu sync.Mutex // guards the next two
		var now memory
		frees := 0
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			rests(ctx, func() memory {
				mu.Lock()
				defer mu.Unlock()
				return now
			}, func() {
				mu.Lock()
				defer mu.Unlock()
				frees++
				now.occupied = now.used
			})
		}()
		look := func(what string, want int, allocated, occupied, used uint64) {
			t.Helper()
			mu.Lock()
			now.allocated += allocated
			now.occupied, now.used = occupied, used
			mu.Unlock()
			<-time.After(restEvery)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if frees != want {
				t.Errorf("%s: memory was given back %d times, want %d", what, frees, want)
			}
		}
		synctest.Wait()
		look("busy", 0, 40*mib, 60*mib, 20*mib)
		look("nearly nothing is done", 1, mib/2, 60*mib, 20*mib)
		look("still nothing", 1, mib/2, 60*mib, 20*mib)
		look("busy again", 1, 5*mib, 60*mib, 20*mib)
		look("and at rest", 2, 0, 60*mib, 20*mib)
		look("a small turn", 2, 2*mib, 21*mib, 20*mib)
		look("leaves little", 2, 0, 21*mib, 20*mib)
		look("a small process has turns", 2, 6*mib, 9*mib, 3*mib)
		look("and keeps its memory", 2, 0, 9*mib, 3*mib)
		end()
		<-ended
	})
}

// What is read of the heap is there: a name that the runtime does not know would be a panic.
func TestReadMemory(t *testing.T) {
	if m := readMemory(); m.allocated == 0 || m.occupied == 0 {
		t.Errorf("%+v", m)
	}
}
