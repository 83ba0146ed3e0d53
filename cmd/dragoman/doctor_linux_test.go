package main

import (
	"os"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

// The doctor checks the place for sessions even if it does not exist yet, and leaves nothing
// behind.
func TestDoctorTriesTheDataFolder(t *testing.T) {
	p := newPlace(t)
	if o := p.run(t, "", "doctor"); strings.Contains(o.out, "cannot be kept") || !strings.Contains(o.out, p.data+" will be made with the first session") {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat(p.data); err == nil {
		t.Error("the doctor has made the data folder")
	}
	const nowhere = "/proc/self/nowhere" // even root cannot create anything there
	delete(p.env, "DRAGOMAN_DATA")
	p.env["HOME"] = nowhere
	o := p.run(t, "", "doctor")
	if o.code != program.ExitFailed || !strings.Contains(o.out, "sessions cannot be kept in "+nowhere) || !strings.Contains(o.out, "--data-dir or DRAGOMAN_DATA") || strings.Contains(o.out, "Nothing is wrong") {
		t.Errorf("%+v", o)
	}
	if o := p.run(t, "hello\n", "chat"); o.code != program.ExitFailed || !strings.Contains(o.errs, "--data-dir or DRAGOMAN_DATA") {
		t.Errorf("chat: %+v", o)
	}
}
