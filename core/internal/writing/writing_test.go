package writing

import (
	"errors"
	"testing"
	"time"
)

type pos int

func (p pos) Before(other pos) bool { return p < other }

// next compares the next step of a plan.
func next(t *testing.T, when string, p *Plan[pos], l Log[pos], now time.Time, step Step, wait time.Duration) {
	t.Helper()
	if s, w := p.Next(l, now); s != step || w != wait {
		t.Errorf("%s: step %d, wait %v; want %d, %v", when, s, w, step, wait)
	}
}

// Text waits for more text, and is synced a second after the start; then nothing is left to do.
func TestTextWaits(t *testing.T) {
	var p Plan[pos]
	now := time.Now()
	l := Log[pos]{Written: 1, Dirty: true}
	if start, call := p.Start(l, now); !start || call || !p.Active() {
		t.Fatalf("it starts: %t, it is called: %t", start, call)
	}
	next(t, "new text", &p, l, now, Wait, delay)
	if start, call := p.Start(l, now); start || call {
		t.Errorf("more text: it starts: %t, it is called: %t", start, call)
	}
	next(t, "more text", &p, l, now.Add(10*time.Millisecond), Wait, delay-10*time.Millisecond)
	next(t, "after the delay", &p, l, now.Add(delay), Write, 0)
	p.Take(true)
	p.Wrote()
	l = Log[pos]{Written: 5}
	next(t, "written", &p, l, now.Add(delay), Wait, syncEvery-delay)
	if start, call := p.Start(Log[pos]{Written: 5, Dirty: true}, now.Add(delay)); start || !call {
		t.Errorf("text while it rests: it starts: %t, it is called: %t", start, call)
	}
	p.Woke()
	next(t, "a second later", &p, l, now.Add(syncEvery), Sync, 0)
	next(t, "while it syncs", &p, l, now.Add(syncEvery), Wait, syncEvery)
	if p.Durable(5) || p.Idle() {
		t.Error("it is durable before the sync has ended")
	}
	if done := p.Synced(l, 5); len(done) != 0 || !p.Durable(5) || p.Durable(6) {
		t.Errorf("synced: %d waited; durable: %t, %t", len(done), p.Durable(5), p.Durable(6))
	}
	next(t, "synced", &p, l, now.Add(syncEvery), End, 0)
	if p.Active() || !p.Idle() {
		t.Error("it goes on with nothing to do")
	}
}

// What is urgent or awaited, too much, or the last of a closed log is written at once.
func TestHurry(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		log  Log[pos]
		plan func(*Plan[pos])
	}{
		"urgent":  {Log[pos]{Written: 1, Dirty: true}, func(p *Plan[pos]) { p.Urgent = true }},
		"awaited": {Log[pos]{Written: 1, Dirty: true}, func(p *Plan[pos]) { p.Await(2) }},
		"full":    {Log[pos]{Written: 1, Dirty: true, Full: true}, func(*Plan[pos]) {}},
		"closed":  {Log[pos]{Written: 1, Dirty: true, Closed: true}, func(*Plan[pos]) {}},
	} {
		var p Plan[pos]
		p.Start(Log[pos]{}, now)
		test.plan(&p)
		next(t, name, &p, test.log, now, Write, 0)
	}
	var p Plan[pos]
	p.Start(Log[pos]{}, now)
	p.Urgent = true
	p.Take(false)
	next(t, "the rest of what is urgent", &p, Log[pos]{Written: 2, Dirty: true}, now, Write, 0)
	p.Take(true)
	next(t, "text behind it", &p, Log[pos]{Written: 3, Dirty: true}, now, Wait, delay)
}

// A sync begins at once where somebody waits, and answers those whose position it covers. One sync
// runs at a time.
func TestAwait(t *testing.T) {
	var p Plan[pos]
	now := time.Now()
	p.Start(Log[pos]{}, now)
	near, far := p.Await(3), p.Await(9)
	p.Wrote()
	l := Log[pos]{Written: 4}
	next(t, "the near one is written", &p, l, now, Sync, 0)
	l = Log[pos]{Written: 9}
	p.Wrote()
	next(t, "while it syncs", &p, l, now, Wait, syncEvery)
	done := p.Synced(l, 4)
	if len(done) != 1 {
		t.Fatalf("%d are answered", len(done))
	}
	done[0] <- nil
	if err := <-near; err != nil {
		t.Error(err)
	}
	next(t, "the far one", &p, l, now, Sync, 0)
	failure := errors.New("the disk is full")
	for _, c := range p.Fail() {
		c <- failure
	}
	if err := <-far; !errors.Is(err, failure) {
		t.Errorf("the far one: %v", err)
	}
	l.Broken = true
	next(t, "broken", &p, l, now, End, 0)
}

// The summary is noted behind its records, and behind those who wait.
func TestNote(t *testing.T) {
	var p Plan[pos]
	now := time.Now()
	p.Start(Log[pos]{}, now)
	p.Unlisted = true
	next(t, "dirty", &p, Log[pos]{Written: 1, Dirty: true}, now, Wait, delay)
	p.Await(2)
	p.Wrote()
	next(t, "awaited", &p, Log[pos]{Written: 2}, now, Sync, 0)
	next(t, "while it syncs", &p, Log[pos]{Written: 2}, now, Wait, syncEvery)
	p.Synced(Log[pos]{Written: 2}, 2)
	next(t, "synced", &p, Log[pos]{Written: 2}, now, Note, 0)
	next(t, "noted", &p, Log[pos]{Written: 2}, now, End, 0)
}

// A closed log does not wait for a sync that nobody waits for, and starts nothing.
func TestClosed(t *testing.T) {
	var p Plan[pos]
	now := time.Now()
	p.Start(Log[pos]{}, now)
	p.Wrote()
	next(t, "unsynced", &p, Log[pos]{Written: 2, Closed: true}, now, End, 0)
	if start, call := p.Start(Log[pos]{Written: 2, Closed: true}, now); start || call {
		t.Errorf("it starts: %t, it is called: %t", start, call)
	}
}
