package demo

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

// A protocol with a wrong answer is named, with the fault.
func TestActReportsFailures(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows starts no scripts")
	}
	dir := t.TempDir()
	a := newActs()[1]
	liar := filepath.Join(dir, "liar")
	if err := os.WriteFile(liar, []byte("#!/bin/sh\necho 'something is broken' >&2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := &program.Environment{Lookup: func(string) (string, bool) { return "", false }}
	if err := a.run(t.Context(), liar, filepath.Join(dir, "acp"), env); err == nil || !strings.Contains(err.Error(), "initialize: ") {
		t.Errorf("%v", err)
	}
	if got := a.instance.complaints(); got != "something is broken" {
		t.Errorf("%q", got)
	}
}

func TestCheckPlayed(t *testing.T) {
	if err := checkPlayed(true, "it says: Buy milk."); err != nil {
		t.Error(err)
	}
	if checkPlayed(false, "it says: Buy milk.") == nil || checkPlayed(true, "nothing") == nil {
		t.Error("an act in which something is missing passes")
	}
}
