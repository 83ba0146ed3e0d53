package registry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `{"version": "1.0.0", "extensions": [], "agents": [
 {"id": "both", "name": "Both", "version": "2.0.0", "preview": {"version": "9.0.0"}, "distribution": {
  "binary": {
   "linux-x86_64": {"archive": "https://x.example/a.zip", "cmd": "./bin/a", "args": ["acp"], "env": {"A": "b"}, "sha256": "` + sum + `"},
   "windows-x86_64": {"archive": "https://x.example/w.zip", "cmd": ".\\bin\\a.exe"}},
  "npx": {"package": "@s/both@2.0.0", "cmd": "both", "args": ["--acp"]}}},
 {"id": "uv", "version": "1.2", "distribution": {"uvx": {"package": "uv-agent==1.2.post1"}}},
 {"id": "unpinned", "version": "3.1.4", "distribution": {"npx": {"package": "@s/unpinned"}}},
 {"id": "Bad", "version": "1", "distribution": {"npx": {"package": "x@1.0.0"}}},
 {"id": "none", "version": "1", "distribution": {}},
 {"id": "both", "version": "1", "distribution": {"npx": {"package": "x@1.0.0"}}},
 {"id": "shape", "version": "1", "distribution": []},
 7]}`

const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

// What is not understood is left out, and what suits a system is chosen.
func TestParse(t *testing.T) {
	r, err := Parse([]byte(sample))
	if err != nil || len(r.Agents) != 3 || len(r.Dropped) != 5 {
		t.Fatalf("%v; %+v", err, r)
	}
	a, _ := r.Find("both")
	c, err := a.ChooseFor("linux-x86_64")
	if err != nil || c.Kind != Archive || c.Program != "bin/a" || c.SHA256 != sum || c.Env["A"] != "b" || len(c.Args) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = a.ChooseFor("windows-x86_64"); err != nil || c.Program != "bin/a.exe" || c.SHA256 != "" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = a.ChooseFor("darwin-aarch64"); err != nil || c.Kind != NPM || c.Package != "@s/both" || c.Version != "2.0.0" || c.Program != "both" {
		t.Errorf("%+v, %v", c, err)
	}
	uv, _ := r.Find("uv")
	if c, err = uv.ChooseFor("linux-x86_64"); err != nil || c.Kind != PyPI || c.Package != "uv-agent" || c.Version != "1.2.post1" {
		t.Errorf("%+v, %v", c, err)
	}
	unpinned, _ := r.Find("unpinned")
	if c, err = unpinned.ChooseFor("x"); err != nil || c.Version != "3.1.4" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{"", "[]", "{}", `{"agents": {}}`} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "it is not a registry of agents") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if Platform("linux", "amd64") != "linux-x86_64" || Platform("darwin", "arm64") != "darwin-aarch64" {
		t.Error("the names of platforms")
	}
}

// Ids and packages of before lead to the present ones.
func TestRenamed(t *testing.T) {
	for word, want := range map[string]string{
		"claude": "claude-acp", "claude-code-acp": "claude-acp", "@zed-industries/claude-code-acp": "claude-acp", "@zed-industries/claude-code-acp@0.16.1": "claude-acp",
		"@zed-industries/codex-acp": "codex-acp", "codex": "codex-acp", "@google/gemini-cli@0.61.0": "gemini", "claude-acp": "", "unknown": "", "@x/y": "",
	} {
		id, why := Renamed(word)
		if id != want || (why != "") != (want != "" && word != "claude" && word != "codex") {
			t.Errorf("%s: %s, %s", word, id, why)
		}
	}
	for id, want := range map[string]string{"claude-acp": "claude", "github-copilot-cli": "copilot", "qwen-code": "qwen", "gemini": "gemini", "pi-acp": "pi", "-acp": "-acp"} {
		if got := NameFor(id); got != want {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// The registry is fetched; without a connection the last one is used, which is said.
func TestLoad(t *testing.T) {
	text := sample
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
	defer server.Close()
	kept := filepath.Join(t.TempDir(), "data", "kept.json")
	if r, err := (Source{From: server.URL}).Load(t.Context()); err != nil || len(r.Agents) != 3 || r.Source != server.URL {
		t.Errorf("%+v, %v", r, err)
	}
	s := Source{Kept: kept, Address: server.URL}
	if _, err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "is not on the public network") || !strings.Contains(err.Error(), "--registry FILE") {
		t.Errorf("%v", err)
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Load(t.Context()); err != nil || len(r.Agents) != 3 || !strings.Contains(r.Old, "this is the registry of ") {
		t.Errorf("%+v, %v", r, err)
	}
	file := filepath.Join(t.TempDir(), "registry.json")
	if err := os.WriteFile(file, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := (Source{From: file}).Load(t.Context()); err != nil || len(r.Agents) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, from := range []string{file + "x", t.TempDir(), "ftp://x/y", "http://example.com/r.json"} {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := (Source{From: from}).Load(ctx); err == nil {
			t.Errorf("%s is read", from)
		}
		cancel()
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse([]byte(text))
		if err != nil {
			return
		}
		for _, a := range r.Agents {
			c, err := a.ChooseFor("linux-x86_64")
			if err == nil && (strings.HasPrefix(c.Package, "-") || strings.HasPrefix(c.Version, "-") || !filepath.IsLocal(filepath.FromSlash(c.Program)) && c.Program != "") {
				t.Errorf("%+v", c)
			}
		}
	})
}
