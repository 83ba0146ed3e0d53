package coretest

import (
	"context"
	"errors"
	"time"

	"dragoman/core"
)

// patience is far more than a store needs to notice changes of another process.
const patience = time.Minute

// watcher watches a session from its end. calls gets a token, at most one, at each
// call.
type watcher struct {
	*storeTest
	j     core.Journal
	calls chan struct{}
	stop  context.CancelFunc
}

func (t *storeTest) watchFrom(j core.Journal, after core.Pos) *watcher {
	w := &watcher{storeTest: t, j: j, calls: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	t.Cleanup(stop)
	j.Watch(ctx, after, func() {
		select {
		case w.calls <- struct{}{}:
		default:
		}
	})
	return w
}

// until waits for calls until so returns true after one of them.
func (w *watcher) until(what string, so func() bool) {
	w.Helper()
	late := time.After(patience)
	for !so() {
		select {
		case <-w.calls:
		case <-late:
			w.Fatalf("no call says that %s", what)
		}
	}
}

// reads returns a function that reports whether at least n records can be read.
func (w *watcher) reads(n int) func() bool {
	return func() bool { return len(w.read(w.j, core.Pos{})) >= n }
}

// free reports whether the session has no owner: it claims the session, and releases
// it.
func (w *watcher) free() bool {
	_, err := w.j.Claim(w.Context())
	if owned := (*core.OwnedError)(nil); errors.As(err, &owned) {
		return false
	}
	if err = errors.Join(err, w.j.Release()); err != nil {
		w.Fatal(err)
	}
	return true
}

// adder claims a session and returns a function that adds an event to it.
func (t *storeTest) adder(j core.Journal) func(core.Event) {
	t.Helper()
	epoch, log := t.claim(j), t.read(j, core.Pos{})
	return func(ev core.Event) {
		t.Helper()
		r := behind(epoch, log, ev)
		t.write(j, r...)
		log = append(log, r...)
	}
}

// A reader in another process notices an owner's additions, the owner's end and the
// next owner.
func (t *storeTest) watch() {
	a, b := t.store(), t.store()
	j := t.create(a, "s1")
	viewer := t.open(b, "s1")
	log := t.read(viewer, core.Pos{})
	w := t.watchFrom(viewer, log[len(log)-1].End())
	for round, who := range []core.Journal{j, t.open(a, "s1")} {
		add := t.adder(who)
		add(core.Claimed{Epoch: 1})
		w.until("the session was claimed", w.reads(2+3*round))
		add(core.Notice{Text: "one"})
		w.until("a record was added", w.reads(3+3*round))
		add(core.Notice{Text: "two"})
		w.until("another record was added", w.reads(4+3*round))
		if err := who.Release(); err != nil {
			t.Fatal(err)
		}
		w.until("the owner has gone", w.free)
	}
	dying := t.process()
	add := t.adder(t.open(dying, "s1"))
	add(core.Claimed{Epoch: 1})
	w.until("the session was claimed", w.reads(8))
	if err := dying.Close(); err != nil {
		t.Fatal(err)
	}
	w.until("the owner has died", w.free)
}

// A watch from a position that already has records after it is called at once.
func (t *storeTest) watchBehind() {
	a, b := t.store(), t.store()
	add := t.adder(t.create(a, "s1"))
	viewer := t.open(b, "s1")
	log := t.read(viewer, core.Pos{})
	add(core.Claimed{Epoch: 1})
	for what, after := range map[string]core.Pos{"the end of what was read": log[len(log)-1].End(), "the beginning": {}} {
		called := false
		w := t.watchFrom(viewer, after)
		w.until("there is something behind "+what, func() bool {
			defer func() { called = true }()
			return called
		})
	}
}

// A watch ends with its context, and others continue.
func (t *storeTest) watchesEnd() {
	a, b := t.store(), t.store()
	add := t.adder(t.create(a, "s1"))
	first, second := t.open(b, "s1"), t.open(b, "s1")
	log := t.read(first, core.Pos{})
	t.read(second, core.Pos{})
	w, other := t.watchFrom(first, log[len(log)-1].End()), t.watchFrom(second, log[len(log)-1].End())
	add(core.Claimed{Epoch: 1})
	w.until("the session was claimed", w.reads(2))
	w.stop()
	for n := range 3 { // a check in progress may still call
		add(core.Notice{Text: "more"})
		other.until("a record was added", other.reads(3+n))
		if n == 1 {
			select {
			case <-w.calls:
			default:
			}
		}
	}
	select {
	case <-w.calls:
		t.Error("a watch that has ended is called")
	default:
	}
}

// A viewer that reads each record after it was written reads the same as one that
// reads all at once, even if a record contains only the changes since an earlier one,
// and across owners.
func (t *storeTest) following() {
	a, b := t.store(), t.store()
	j := t.create(a, "s1")
	viewer := t.open(b, "s1")
	got := t.read(viewer, core.Pos{})
	at := got[0].End()
	for range 2 {
		epoch, log := t.claim(j), t.read(j, core.Pos{})
		for _, ev := range append([]core.Event{core.Claimed{Epoch: epoch}}, Samples()...) {
			r := behind(epoch, log, ev)
			t.write(j, r...)
			log = append(log, r...)
			for _, r := range t.read(viewer, at) {
				at = r.End()
				got = append(got, r)
			}
		}
		if err := j.Release(); err != nil {
			t.Fatal(err)
		}
	}
	t.same("a viewer that follows", got, t.read(t.open(b, "s1"), core.Pos{}))
}
