package readers

import (
	"slices"
	"testing"
	"time"
)

type pos int

func (p pos) Before(q pos) bool { return p < q }

// The fastest reader that counts decides, and without one nobody waits.
func TestLagging(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, c := range []struct {
		name            string
		taken           []uint64
		after           time.Duration
		total, unstored uint64
		lags            bool
	}{
		{"nobody reads", nil, 0, 9 * far, 0, false},
		{"the store is behind", nil, 0, 9 * far, far + 1, true},
		{"the log is short", []uint64{0}, 0, far - 1, 0, false},
		{"one is just near enough", []uint64{far}, 0, 2 * far, 0, false},
		{"one is too far", []uint64{far - 1}, 0, 2 * far, 0, true},
		{"one of two is near", []uint64{0, 9 * far}, 0, 9 * far, 0, false},
		{"records were cut off", []uint64{9 * far}, 0, 2 * far, 0, false},
		{"it has just not stalled", []uint64{0}, stalled, 9 * far, 0, true},
		{"it has stalled", []uint64{0}, stalled + 1, 9 * far, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Set[int, pos]
			for r, taken := range c.taken {
				s.Add(r, &Progress[pos]{}, start, taken)
			}
			now := func() time.Time { return start.Add(c.after) }
			if got := s.Lagging(c.total, c.unstored, now); got != c.lags {
				t.Errorf("lagging is %v", got)
			}
		})
	}
}

// A reader is woken once for each time that it has found nothing.
func TestWake(t *testing.T) {
	var s Set[string, pos]
	var a, b Progress[pos]
	s.Add("a", &a, time.Time{}, 0)
	s.Add("b", &b, time.Time{}, 0)
	if s.Waiting() || s.Wake(nil) != nil {
		t.Error("a reader waits before it has looked")
	}
	b.Ready = false
	if got := s.Wake(nil); !slices.Equal(got, []string{"b"}) || s.Waiting() {
		t.Errorf("woke %q", got)
	}
	if got := s.Wake(nil); got != nil {
		t.Errorf("woke %q again", got)
	}
}

func TestBehind(t *testing.T) {
	var s Set[string, pos]
	var a, b Progress[pos]
	s.Add("a", &a, time.Time{}, 0)
	s.Add("b", &b, time.Time{}, 0)
	if a.Done = 5; !s.Behind(5) {
		t.Error("b has handled nothing")
	}
	if b.Done = 5; s.Behind(5) {
		t.Error("both have handled everything")
	}
	if !s.Behind(6) {
		t.Error("neither has handled the last one")
	}
}

// Whatever may end a wait lets those who wait look again, and a later wait has a channel of its own.
func TestRoom(t *testing.T) {
	for name, move := range map[string]func(*Set[string, pos]){
		"progress": func(s *Set[string, pos]) { s.Moved() },
		"a reader leaves": func(s *Set[string, pos]) {
			if s.Remove("a"); s.Empty() {
				t.Error("b is still there")
			}
		},
		"the log ends": func(s *Set[string, pos]) {
			if s.Close(); !s.all["a"].Closed || !s.all["b"].Closed {
				t.Error("a reader is open")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s Set[string, pos]
			s.Add("a", &Progress[pos]{}, time.Time{}, 0)
			s.Add("b", &Progress[pos]{}, time.Time{}, 0)
			room := s.Room()
			if s.Room() != room {
				t.Error("two who wait have two channels")
			}
			select {
			case <-room:
				t.Fatal("there is room before anything has happened")
			default:
			}
			move(&s)
			select {
			case <-room:
			default:
				t.Error("there is no room")
			}
			if s.Room() == room {
				t.Error("the next wait would end at once")
			}
		})
	}
}
