package jsonl

import (
	"errors"
	"testing"

	"dragoman/core"
)

// The address of the process that owns a session is known to others as long as it does.
func TestAddress(t *testing.T) {
	dir := t.TempDir()
	own, other := New(dir), New(dir)
	own.Address = func() string { return "/run/here key" }
	defer func() {
		if err := errors.Join(own.Close(), other.Close()); err != nil {
			t.Error(err)
		}
	}()
	j, err := own.Create(t.Context(), core.Meta{ID: "s", Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := other.Open(t.Context(), core.Local, "s")
	if err != nil {
		t.Fatal(err)
	}
	if at := seen.Owner(); at != "" {
		t.Errorf("nobody owns it, and the address is %q", at)
	}
	if _, err := j.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	var owned *core.OwnedError
	if _, err := seen.Claim(t.Context()); !errors.As(err, &owned) || owned.Address != "/run/here key" || seen.Owner() != owned.Address || j.Owner() != "" {
		t.Errorf("%v: others see %q, the owner %q", err, seen.Owner(), j.Owner())
	}
	if err := j.Release(); err != nil || seen.Owner() != "" {
		t.Errorf("it was released (%v), and the address is %q", err, seen.Owner())
	}
}
