package main

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The hidden command reports mistakes in its arguments, and a missing keyring.
func TestKeyringCommand(t *testing.T) {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("there is a keyring here, which is the user's")
	}
	p := newPlace(t)
	delete(p.env, "DRAGOMAN_KEYRING")
	p.env["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=" + filepath.Join(p.work, "nowhere")
	r := p.run(t, "", "keyring", "get", "x")
	if r.code != 1 || r.out != "" || !strings.Contains(r.errs, "nowhere") {
		t.Errorf("%+v", r)
	}
	if r := p.run(t, "", "keyring", "steal", "x"); r.code != 2 {
		t.Errorf("%+v", r)
	}
	if r := p.run(t, "sk-1\n", "login", "groq"); r.code != 0 || !strings.Contains(r.out, "unencrypted in ") || !strings.Contains(r.out, "nowhere") {
		t.Errorf("%+v", r)
	}
	if r := p.run(t, "", "--help"); strings.Contains(r.out, "keyring") && strings.Contains(r.out, "for dragoman itself") {
		t.Error("it is shown")
	}
}
