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
	"dragoman/configs/configstest"
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

// The error for a missing key says what to do, and nothing else. The hint for a refused key names
// the key's source.
func TestMissingKeySaysWhatToDo(t *testing.T) {
	c := configstest.Parsed(t, "providers: {house: {base_url: http://127.0.0.1:1}, broken: {base_url: http://127.0.0.1:1, api_key: '${env:NOWHERE}'}}")
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"GROQ_API_KEY": "x"}[name]
		return v, ok
	}
	m := New(c, Options{Env: env, KeyFile: "/c/config.yaml"})
	defer m.Close()
	for id, want := range map[string]string{
		"openai/gpt-5.1": `model openai/gpt-5.1: auth: there is no key for openai: run "dragoman login openai", or set OPENAI_API_KEY where dragoman is started`,
		"gemini/x":       `model gemini/x: auth: there is no key for gemini: run "dragoman login gemini", or set GEMINI_API_KEY or GOOGLE_API_KEY where dragoman is started`,
		"broken/x":       `model broken/x: auth: the key could not be read: config.yaml:1:100: providers.broken.api_key: environment variable NOWHERE is not set`,
	} {
		model, err := m.named(id)
		if err != nil {
			t.Fatal(err)
		}
		if h := coretest.Hear(t.Context(), t, model, coretest.ModelRequest(), nil); h.Err == nil || !strings.HasPrefix(h.Err.Error(), want) || id != "broken/x" && h.Err.Error() != want {
			t.Errorf("%v\nwant %s", h.Err, want)
		}
	}
	for provider, want := range map[string]string{
		"groq":   "The key comes from GROQ_API_KEY in the environment.",
		"broken": "The key comes from providers.broken.api_key in /c/config.yaml.",
		"house":  `Run "dragoman login house", or set providers.house.api_key in /c/config.yaml.`,
	} {
		if got := keyHint(c, env, nil, provider, "/c/config.yaml"); got != want {
			t.Errorf("%s: %s", provider, got)
		}
	}
}

// A model with written-down efforts can reason, whatever else is written down.
func TestEffortsImplyReasoning(t *testing.T) {
	c := configstest.Parsed(t, "providers: {house: {base_url: http://127.0.0.1:1, models: {a: {efforts: [low, high]}, b: {can: [tools], efforts: [low]}, c: {can: [tools]}}}}")
	m := New(c, Options{})
	defer m.Close()
	got := map[string]bool{}
	for _, info := range m.Infos() {
		got[info.ID] = info.Thinks
	}
	if !got["house/a"] || !got["house/b"] || got["house/c"] {
		t.Errorf("%v", got)
	}
}
