package launch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/agent/launch"
	"dragoman/core"
)

// A lock excludes another agent of the same session, and none of another session or principal. Nothing of it is
// left behind its release.
func TestLocksOfSessions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	ours, theirs := &launch.Locks{Dir: dir}, &launch.Locks{Dir: dir, Wait: time.Millisecond}
	one, another := core.Meta{Principal: "ada", ID: "s"}, core.Meta{Principal: "ada", ID: "t"}
	held := launch.SessionLock{Locks: ours}
	for range 2 { // it is held already
		if err := held.Take(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	next := launch.SessionLock{Locks: theirs}
	if err := next.Take(t.Context(), one); err == nil || !strings.Contains(err.Error(), "still runs after 1ms") {
		t.Errorf("the session's second agent: %v", err)
	}
	enough, stop := context.WithCancelCause(t.Context())
	stop(core.ErrCanceled)
	if err := next.Take(enough, one); !errors.Is(err, core.ErrCanceled) {
		t.Errorf("a wait that was stopped: %v", err)
	}
	for _, m := range []core.Meta{another, {Principal: "bob", ID: "s"}} {
		l := launch.SessionLock{Locks: theirs}
		if err := l.Take(t.Context(), m); err != nil {
			t.Errorf("session %s of %s: %v", m.ID, m.Principal, err)
		}
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	if err := held.Release(); err != nil {
		t.Error(err)
	}
	if err := next.Take(t.Context(), one); err != nil {
		t.Errorf("behind the first: %v", err)
	}
	if err := next.Release(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The files of processes that have died are removed by the next one. Those that are in use stay, and so does what
// is not a lock.
func TestLocksOfTheDeadAreRemoved(t *testing.T) {
	dir := t.TempDir()
	used := launch.SessionLock{Locks: &launch.Locks{Dir: dir}}
	if err := used.Take(t.Context(), core.Meta{ID: "used"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dead.lock", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := launch.SessionLock{Locks: &launch.Locks{Dir: dir}}
	if err := l.Take(t.Context(), core.Meta{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); len(left) != 2 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := used.Release(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("left behind the last: %v, %v", left, err)
	}
}

// Without a folder nothing is locked.
func TestWithoutLocks(t *testing.T) {
	for _, locks := range []*launch.Locks{nil, {}} {
		one, two := launch.SessionLock{Locks: locks}, launch.SessionLock{Locks: locks}
		for _, l := range []*launch.SessionLock{&one, &two} {
			if err := errors.Join(l.Take(t.Context(), core.Meta{ID: "s"}), l.Under(nil)); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(one.Release(), two.Release()); err != nil {
			t.Error(err)
		}
	}
}
