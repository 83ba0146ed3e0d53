package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// At the default level nothing of a conversation is logged, and nothing at all without a fault;
// at any level, nothing goes to standard output.
func TestLogHoldsNoPrompt(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(p.home, "all.log")
	for _, level := range []string{"warn", "debug"} {
		out := p.well(t, "think secret-word then run echo secret-word\ny\n", "chat", "--log-level", level, "--log-file", file)
		if !strings.Contains(out, "secret-word") || strings.Contains(out, `"level"`) {
			t.Errorf("%s", out)
		}
		got := string(read(t, file))
		if strings.Contains(got, "secret-word") {
			t.Errorf("at level %s the log holds the prompt: %s", level, got)
		}
		if level == "warn" && got != "" {
			t.Errorf("nothing was wrong, and the log says: %s", got)
		}
	}
	if got := string(read(t, file)); !strings.Contains(got, "configuration read") {
		t.Errorf("at level debug the log says: %s", got)
	}
}
