package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dragoman/configs"
	"dragoman/core/coretest"
)

// A key and a header that programs print reach the service. Each program runs once
// for many requests, without a shell, and not before the first.
func TestKeyPrograms(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization")+" "+r.Header.Get("X-Team"))
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"not with ` + r.Header.Get("X-Team") + " and " + r.Header.Get("Authorization") + `"}}`))
	}))
	defer srv.Close()
	ran := filepath.Join(p.home, "ran")
	script := "#!/bin/sh\necho x >>'" + ran + "'\nprintf '%s\\nuser: me\\n' \"$1\"\n"
	path := p.config(t, "model: house/m\nproviders:\n  house: {base_url: "+srv.URL+", api_key: '${cmd:./key.sh canary-$HOME;}', headers: {X-Team: '${cmd:./key.sh canary-header}'}}\n")
	tool := filepath.Join(filepath.Dir(path), "key.sh")
	p.write(t, tool, script)
	if err := os.Chmod(tool, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	c, err := configs.Load(configs.Options{Path: path, Env: p.lookup})
	if err != nil {
		t.Fatal(err)
	}
	m := newModels(c, surroundings{env: p.lookup, keyFile: path})
	defer m.registry.Close()
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program ran before a key was needed")
	}
	for range 3 {
		model, err := m.named("house/m")
		if err != nil {
			t.Fatal(err)
		}
		h := coretest.Hear(t.Context(), t, model, coretest.ModelRequest(), nil)
		if h.Err == nil || strings.Contains(h.Err.Error(), "canary") {
			t.Errorf("error %v", h.Err)
		}
	}
	if log, err := os.ReadFile(ran); err != nil || string(log) != "x\nx\n" {
		t.Errorf("ran %q, %v", log, err)
	}
	for _, line := range got {
		if line != "Bearer canary-$HOME; canary-header" {
			t.Errorf("sent %q", line)
		}
	}
}

// What goes wrong with a program is said without what it printed, and nobody waits
// for it longer than they want to.
func TestKeyProgramsFail(t *testing.T) {
	unixOnly(t)
	k := newKeyPrograms()
	dir := t.TempDir()
	for script, want := range map[string]string{
		"echo canary; echo canary >&2; exit 3": "the program failed (exit status 3); run it in a terminal to see why",
		"yes canary":                           "the program printed more than 64 KiB",
		"kill -9 $$":                           "the program failed (signal: killed); run it in a terminal to see why",
	} {
		if text, err := k.run(t.Context(), dir, []string{"sh", "-c", script}); err == nil || err.Error() != want || text != "" {
			t.Errorf("%s: %q, %v", script, text, err)
		}
	}
	if _, err := k.run(t.Context(), dir, []string{"no-such-program-here"}); err == nil || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("%v", err)
	}

	// Of two who want the same one leaves: the other one gets it.
	begun := filepath.Join(dir, "begun")
	if err := exec.CommandContext(t.Context(), "mkfifo", begun).Run(); err != nil {
		t.Skip(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	args := []string{"sh", "-c", "if mkdir first 2>/dev/null; then echo x >begun; exec sleep 1000; fi; echo key"}
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := k.run(ctx, dir, args); !errors.Is(err, context.Canceled) {
			t.Errorf("who left: %v", err)
		}
	})
	if _, err := os.ReadFile(begun); err != nil { // waits for it
		t.Error(err)
	}
	both.Go(func() {
		if text, err := k.run(t.Context(), dir, args); text != "key\n" || err != nil {
			t.Errorf("who stayed: %q, %v", text, err)
		}
	})
	leave()
	both.Wait()
}
