package secrets

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dragoman/cmd/internal/program/programtest"
)

// A program's failure is reported without its output, and callers wait no longer than they want
// to.
func TestKeyProgramsFail(t *testing.T) {
	programtest.UnixOnly(t)
	k := NewPrograms()
	dir := t.TempDir()
	for script, want := range map[string]string{
		"echo canary; echo canary >&2; exit 3": "the program failed (exit status 3); run it in a terminal to see why",
		"yes canary":                           "the program printed more than 64 KiB",
		"kill -9 $$":                           "the program failed (signal: killed); run it in a terminal to see why",
	} {
		if text, err := k.Run(t.Context(), dir, []string{"sh", "-c", script}); err == nil || err.Error() != want || text != "" {
			t.Errorf("%s: %q, %v", script, text, err)
		}
	}
	if _, err := k.Run(t.Context(), dir, []string{"no-such-program-here"}); err == nil || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("%v", err)
	}

	// Of two callers of the same one leaves: the other one gets the result.
	begun := filepath.Join(dir, "begun")
	if err := exec.CommandContext(t.Context(), "mkfifo", begun).Run(); err != nil {
		t.Skip(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	args := []string{"sh", "-c", "if mkdir first 2>/dev/null; then echo x >begun; exec sleep 1000; fi; echo key"}
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := k.Run(ctx, dir, args); !errors.Is(err, context.Canceled) {
			t.Errorf("who left: %v", err)
		}
	})
	if _, err := os.ReadFile(begun); err != nil { // it waits for the program
		t.Error(err)
	}
	both.Go(func() {
		if text, err := k.Run(t.Context(), dir, args); text != "key\n" || err != nil {
			t.Errorf("who stayed: %q, %v", text, err)
		}
	})
	leave()
	both.Wait()
}
