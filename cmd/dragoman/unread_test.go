package main

import (
	"bytes"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

// A command whose output nobody reads to the end, as before "| head", ends without a message.
func TestCommandsWhoseOutputIsNotReadToTheEnd(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.well(t, "", "run", "read notes.txt")
	for _, args := range []string{"models list --all", "sessions show latest", "sessions list", "config schema", "translate --table"} {
		cmd := p.command(t.Context(), strings.Fields(args)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		r, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // only the code counts
		if code := cmd.ProcessState.ExitCode(); errs.Len() > 0 || code != program.ExitUnread {
			t.Errorf("%s: exit code %d: %s", args, code, &errs)
		}
	}
}
