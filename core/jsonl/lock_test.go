package jsonl

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/datadir"
)

// TestLockWithoutOwner: a lock without a living owner is about to be released, and a
// claim waits for it as long as that may take; it does not wait for a living owner's.
// A process that is ending or has just started, and a program that a killed one was
// starting, hold such a lock for a moment.
func TestLockWithoutOwner(t *testing.T) {
	for _, tt := range []struct {
		name  string
		owner *owner // nil: no owner file
		waits bool
	}{
		{"a living owner", &owner{PID: os.Getpid()}, false},
		{"a dead owner", &owner{PID: 1 << 30}, true},
		{"no owner", nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := logOf(t, New(t.TempDir()), "s1")
				held, err := datadir.TryLock(j.files.lock)
				if err != nil {
					t.Fatal(err)
				}
				if tt.owner != nil {
					tt.owner.Host = hostname(t)
					if err := writeFileOwner(j.files.owner, *tt.owner); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				var owned *core.OwnedError
				_, err = j.Claim(t.Context())
				took := time.Since(began)
				if !errors.As(err, &owned) {
					t.Errorf("a lock that is not given back: %v", err)
				}
				if !tt.waits {
					if took > 0 {
						t.Errorf("the lock of a living owner was waited for, for %v", took)
					}
					return
				}
				if took < ownerless || took > ownerless+time.Second {
					t.Errorf("a lock without an owner was waited for, for %v", took)
				}
				time.AfterFunc(ownerless/2, func() {
					if err := held.Unlock(); err != nil {
						t.Error(err)
					}
				})
				if _, err := j.Claim(t.Context()); err != nil {
					t.Errorf("a lock that is given back: %v", err)
				}
			})
		})
	}
}

// The owner that is named is a living process: this one while it has the claim, one on another
// host, but no dead one.
func TestOwnerIsNamed(t *testing.T) {
	s := New(t.TempDir())
	j := logOf(t, s, "s1")
	owned := func(want string, wantHere bool) {
		t.Helper()
		if o := s.Owner(j.meta.Principal, "s1"); o.Node != want || o.Here != wantHere {
			t.Errorf("%+v; want %q, %v", o, want, wantHere)
		}
	}
	owned("", false)
	if _, err := j.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	owned(owner{PID: os.Getpid(), Host: hostname(t)}.String(), true)
	if err := j.Release(); err != nil {
		t.Fatal(err)
	}
	owned("", false)
	if err := writeFileOwner(j.files.owner, owner{PID: 1 << 30, Host: hostname(t)}); err != nil {
		t.Fatal(err)
	}
	owned("", false)
	if err := writeFileOwner(j.files.owner, owner{PID: os.Getpid(), Host: "elsewhere"}); err != nil {
		t.Fatal(err)
	}
	owned(owner{PID: os.Getpid(), Host: "elsewhere"}.String(), false)
	if o := s.Owner("", "s1"); o != (Holder{}) {
		t.Errorf("a session of nobody: %+v", o)
	}
}
