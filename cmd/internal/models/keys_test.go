package models

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/cmd/internal/program/programtest"
	"dragoman/configs"
	"dragoman/core/coretest"
)

// A key and a header that programs print reach the service. Each program runs once for many
// requests, without a shell, and not before the first.
func TestKeyPrograms(t *testing.T) {
	programtest.UnixOnly(t)
	p := programtest.NewPlace(t)
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization")+" "+r.Header.Get("X-Team"))
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"not with ` + r.Header.Get("X-Team") + " and " + r.Header.Get("Authorization") + `"}}`))
	}))
	defer srv.Close()
	ran := filepath.Join(p.Home, "ran")
	script := "#!/bin/sh\necho x >>'" + ran + "'\nprintf '%s\\nuser: me\\n' \"$1\"\n"
	path := p.Config(t, "model: house/m\nproviders:\n  house: {base_url: "+srv.URL+", api_key: '${cmd:./key.sh canary-$HOME;}', headers: {X-Team: '${cmd:./key.sh canary-header}'}}\n")
	tool := filepath.Join(filepath.Dir(path), "key.sh")
	programtest.Write(t, tool, script)
	if err := os.Chmod(tool, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	c, err := configs.Load(configs.Options{Path: path, Env: p.Lookup})
	if err != nil {
		t.Fatal(err)
	}
	m := New(c, Options{Env: p.Lookup, KeyFile: path})
	defer m.Close()
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
