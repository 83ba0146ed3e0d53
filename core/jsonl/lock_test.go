package jsonl

import (
	"errors"
	"os"
	"testing"
	"time"

	"dragoman/core"
)

// TestLockOutlivesOwner: what a dead owner was about to start may have its lock for
// a moment, and a living owner's lock is not waited for.
func TestLockOutlivesOwner(t *testing.T) {
	s := New(t.TempDir())
	j := logOf(t, s, "s1")
	held, err := lock(j.files.lock)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFileOwner(j.files.owner, owner{PID: os.Getpid(), Host: hostname(t)}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var owned *core.OwnedError
	if _, err := j.Claim(t.Context()); !errors.As(err, &owned) {
		t.Errorf("of a living owner: %v", err)
	}
	if took := time.Since(began); took > outlives/2 {
		t.Errorf("the lock of a living owner was waited for, for %v", took)
	}
	if err := writeFileOwner(j.files.owner, owner{PID: 1 << 30, Host: hostname(t)}); err != nil { // dead
		t.Fatal(err)
	}
	if _, err := j.Claim(t.Context()); !errors.As(err, &owned) {
		t.Errorf("a lock that is not given back: %v", err)
	}
	let := time.AfterFunc(20*time.Millisecond, func() { _ = held.Close() })
	defer let.Stop()
	if _, err := j.Claim(t.Context()); err != nil {
		t.Errorf("a lock that is given back: %v", err)
	}
}
