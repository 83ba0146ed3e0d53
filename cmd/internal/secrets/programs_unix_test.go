//go:build unix

package secrets

import (
	"context"
	"errors"
	"testing"

	"dragoman/core/child/childtest"
)

// The child processes of a key program end with it: when the program has to end, and when it has
// printed its key, even if one of them still holds its output.
func TestKeyProgramsLeaveNothing(t *testing.T) {
	k := NewPrograms()
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := k.Run(ctx, t.TempDir(), []string{"sh", "-c", "trap '' TERM; sh -c 'sleep " + odd + "; true' & sleep " + odd + "; true"})
		done <- err
	}()
	childtest.Soon(t, "the program and what it started run", func() bool { return len(childtest.Asleep(t, odd)) == 2 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if left := childtest.Asleep(t, odd); len(left) > 0 {
		t.Errorf("stopped: %v are left", left)
	}
	if text, err := k.Run(t.Context(), t.TempDir(), []string{"sh", "-c", "sleep " + odd + " & echo key"}); text != "key\n" || err != nil {
		t.Errorf("ended: %q, %v", text, err)
	}
	if left := childtest.Asleep(t, odd); len(left) > 0 {
		t.Errorf("ended: %v are left", left)
	}
}
