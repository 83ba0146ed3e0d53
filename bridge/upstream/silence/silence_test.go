package silence

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// given counts how often a request was given up.
type given struct{ n atomic.Int32 }

func (g *given) Silent() { g.n.Add(1) }

// after lets time pass, and reports whether the request was given up by then.
func (g *given) after(d time.Duration) bool {
	<-time.After(d) // of the bubble
	synctest.Wait()
	return g.n.Load() > 0
}

// A request is given up once, when its server has been silent for its limit, whatever other requests
// there are.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Watch
		defer s.Close()
		var slow, quick, signs, ended, forever given
		s.Begin(&slow, time.Minute)
		s.Begin(&forever, 0)
		s.Begin(&ended, time.Second)
		s.Begin(&quick, time.Second)
		s.Begin(&quick, time.Hour) // again
		s.Begin(&signs, time.Second)
		s.End(&ended)
		if slow.after(999 * time.Millisecond); quick.n.Load() != 0 {
			t.Error("the quick one was given up too early")
		}
		s.Sign(&signs)
		if !quick.after(time.Millisecond) || signs.after(998*time.Millisecond) || !signs.after(time.Millisecond) {
			t.Errorf("quick %d, with a sign %d", quick.n.Load(), signs.n.Load())
		}
		if slow.after(58*time.Second) || !slow.after(time.Second) {
			t.Errorf("the slow one: %d", slow.n.Load())
		}
		var next given
		if s.Begin(&next, time.Second); next.after(999*time.Millisecond) || !next.after(time.Millisecond) {
			t.Errorf("the next one: %d", next.n.Load())
		}
		if forever.after(time.Hour); forever.n.Load()+ended.n.Load() != 0 || quick.n.Load() != 1 {
			t.Errorf("for ever %d, ended %d, quick %d", forever.n.Load(), ended.n.Load(), quick.n.Load())
		}
	})
}

// While a question is with a person no time passes, and then the server has all of its time, also if
// the answer comes just when the time would have been over.
func TestRestsDuringQuestions(t *testing.T) {
	t.Parallel()
	for _, answered := range []time.Duration{time.Millisecond, 999 * time.Millisecond, time.Second, 1001 * time.Millisecond, 3 * time.Second} {
		for range 50 { // what happens at the same time happens in either order
			synctest.Test(t, func(t *testing.T) {
				var s Watch
				defer s.Close()
				var x given
				s.Begin(&x, time.Second)
				for i := range 3 {
					if ok := s.Ask(2); ok != (i < 2) {
						t.Errorf("question %d: %v", i, ok)
					}
				}
				if s.Answered(); x.after(answered) {
					t.Fatalf("given up during the question, of %v", answered)
				}
				if s.Answered(); x.after(999 * time.Millisecond) {
					t.Fatalf("given up less than its time after the answer, of %v", answered)
				}
				if !x.after(time.Millisecond) {
					t.Fatalf("not given up after the answer, of %v", answered)
				}
			})
		}
	}
}

// stuck is a request that cannot be given up.
type stuck struct{ end chan struct{} }

func (s *stuck) Silent() { <-s.end }

// A request that cannot be given up does not delay the others.
func TestARequestThatIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Watch
		defer s.Close()
		end := make(chan struct{})
		defer close(end)
		var others [20]given
		for i := range others {
			s.Begin(&stuck{end}, time.Second)
			s.Begin(&others[i], time.Second)
		}
		for i := range others {
			if !others[i].after(1001 * time.Millisecond) {
				t.Fatalf("%d was not given up", i)
			}
		}
	})
}

// A closed Watch gives nothing up.
func TestClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Watch
		var before, after given
		s.Begin(&before, time.Second)
		s.Close()
		if s.Begin(&after, time.Second); before.after(time.Minute) || after.after(0) {
			t.Error("given up")
		}
	})
}
