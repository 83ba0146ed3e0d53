package tools

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/files"
	"dragoman/core/ide"
)

// Files that a rule forbids to read are neither searched nor listed by any tool: only
// their number is shown.
func TestForbiddenIsNotListed(t *testing.T) {
	var fault error
	b := newBed(t, Options{Forbids: func(h core.ToolHost) (func(core.Access) bool, error) {
		m := h.Meta()
		return func(a core.Access) bool {
			rel, ok := files.Within(m.Cwd, a.Path)
			return ok && (filepath.Base(rel) == ".env" || rel == "private" || strings.HasPrefix(rel, "private"+string(filepath.Separator)))
		}, fault
	}})
	b.put("a.go", "needle here\n")
	env := b.put(".env", "needle canary\n")
	b.put("sub/.env", "needle canary\n")
	b.put("private/b.go", "needle canary\n")
	for _, c := range []struct {
		tool string
		args m
		want string
	}{
		{"grep", m{"pattern": "needle"}, "a.go:1:needle here\n\n[3 left out that rules forbid to read]"},
		{"grep", m{"pattern": "needle", "path": "sub"}, "no matches for needle in sub\n[1 left out that rules forbid to read]"},
		{"glob", m{"pattern": "**"}, "a.go\n\n[3 left out that rules forbid to read]"},
		{"glob", m{"pattern": "**/.e*"}, "no files match **/.e*\n[3 left out that rules forbid to read]"},
		{"directory_tree", m{}, "./\n  a.go\n  sub/\n\n[3 left out that rules forbid to read]"},
	} {
		if got := b.ok(c.tool, c.args); got != c.want {
			t.Errorf("%s %v: got %q, want %q", c.tool, c.args, got, c.want)
		}
	}
	b.fails("grep", m{"pattern": "needle", "path": ".env"}, "a rule forbids to read it")
	b.fails("grep", m{"pattern": "needle", "path": "private"}, "a rule forbids to read it")

	w := &window{caps: ide.Caps{Diagnostics: true, References: true, Glob: true}}
	w.do = func(_ context.Context, c ide.Call) (ide.Reply, error) {
		switch c.(type) {
		case ide.GlobFiles:
			return ide.FilePaths{Paths: []string{env, filepath.Join(b.dir, "a.go")}}, nil
		case ide.Diagnose:
			return ide.Diagnostics{Items: []ide.Diagnostic{{Path: env, Severity: "error", Message: "canary", Line: 1, Column: 1}}}, nil
		}
		return ide.Places{Items: []ide.Place{{Path: env, Line: 1, Column: 1}, {Path: filepath.Join(b.dir, "a.go"), Line: 1, Column: 1}}}, nil
	}
	b.editor = w
	if got, want := b.ok("glob", m{"pattern": "*"}), "a.go\n\n[1 left out that rules forbid to read]"; got != want {
		t.Errorf("the editor's glob: got %q, want %q", got, want)
	}
	if got := b.ok("editor_diagnostics", m{}); strings.Contains(got, "canary") || !strings.Contains(got, "[1 left out") {
		t.Errorf("diagnostics: %q", got)
	}
	if got, want := b.ok("editor_references", m{"path": "a.go", "line": 1, "symbol": "here"}), ".env:1:1 (a rule forbids to read it)\na.go:1:1: needle here\n"; got != want {
		t.Errorf("references: got %q, want %q", got, want)
	}

	fault = errors.New("config.yaml:1:1: not readable")
	for _, tool := range []string{"grep", "directory_tree", "editor_diagnostics"} {
		args := m{}
		if tool == "grep" {
			args["pattern"] = "needle"
		}
		b.fails(tool, args, "config.yaml:1:1")
	}
}

// Nor can they be found as references, even through a link.
func TestForbiddenIsNotFound(t *testing.T) {
	b := newBed(t)
	b.put("dir/secret.txt", "")
	b.put("dir/other.txt", "")
	f := NewFiles(FilesOptions{Policy: suffixPolicy{suffix: "secret.txt"}})
	for query, want := range map[string]string{"secret": "", "txt": "dir/other.txt", "./dir/": "dir/other.txt", "": "dir/ dir/other.txt"} {
		if got := b.found(f, query, 9); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}
