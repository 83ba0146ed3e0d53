package wire

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Guests{All: 3, Each: 2, Idle: time.Hour}
		var mu sync.Mutex // guards the two below
		ended, working := map[string]bool{}, map[string]bool{}
		works := func(name string, is bool) {
			mu.Lock()
			defer mu.Unlock()
			working[name] = is
		}
		enter := func(client, name string) (*Guest, error) {
			t.Helper()
			<-time.After(time.Minute)
			return g.Enter(client, func() bool {
				mu.Lock()
				defer mu.Unlock()
				return working[name]
			}, func() {
				mu.Lock()
				defer mu.Unlock()
				ended[name] = true
			})
		}
		must := func(client, name string) *Guest {
			t.Helper()
			o, err := enter(client, name)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		want := func(names ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			for _, name := range names {
				if !ended[name] {
					t.Errorf("%s is there", name)
				}
			}
			if len(ended) != len(names) {
				t.Errorf("%v have ended", ended)
			}
		}
		a1, a2, b1 := must("a", "a1"), must("a", "a2"), must("b", "b1")
		for _, o := range []*Guest{a1, a2, b1} {
			<-time.After(time.Second) // each has been silent for longer than the next
			o.Done()
		}
		want()
		must("a", "a3") // the oldest of its own goes, and nobody else's
		want("a1")
		must("c", "c1") // the oldest of all goes, of those that are silent
		want("a1", "a2")
		if a2.Begin() || !b1.Begin() {
			t.Error("one that has ended begins, or one that is there does not")
		}
		_, err := enter("d", "d1") // a request is open in each
		if full, ok := errors.AsType[*FullError](err); !ok || *full != (FullError{Most: 3}) {
			t.Error(err)
		}
		b1.Done()
		works("b1", true)
		if _, err := enter("d", "d1"); err == nil {
			t.Error("one that works has made room")
		}
		<-time.After(3 * time.Hour)
		want("a1", "a2")
		works("b1", false)
		<-time.After(time.Hour)
		want("a1", "a2", "b1")
		last := must("d", "d1")
		last.Done()
		last.Leave()
		g.Close()
		<-time.After(2 * time.Hour)
		want("a1", "a2", "b1")
		if _, err := g.Enter("e", nil, nil); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// Many clients at once get no more places than there are, and each guest is ended at
// most once.
func TestGuestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Guests{All: 10, Each: 4, Idle: time.Minute}
		ends := make(chan int, 1000)
		for i := range 300 {
			go func() {
				o, err := g.Enter(fmt.Sprint(i%7), nil, func() { ends <- i })
				if err != nil {
					return
				}
				if n := g.Count(); n > 10 {
					t.Errorf("%d guests", n)
				}
				<-time.After(time.Duration(i) * time.Millisecond)
				o.Done()
			}()
		}
		synctest.Wait()
		<-time.After(time.Hour)
		if n := g.Count(); n != 0 {
			t.Errorf("%d are left", n)
		}
		g.Close()
		close(ends)
		seen := map[int]bool{}
		for i := range ends {
			if seen[i] {
				t.Errorf("%d was ended twice", i)
			}
			seen[i] = true
		}
	})
}
