package tools

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/ide"
)

// A search of the workspace leaves out places where programs keep keys, and reports
// that; a search that names such a place visits it.
func TestSearchesLeaveOutKeys(t *testing.T) {
	b := newBed(t)
	b.put("a.go", "needle\n")
	b.put(".aws/credentials", "needle\n")
	b.put("sub/.ssh/config", "needle\n")
	b.put(".config/gh/hosts.yml", "needle\n")
	b.put(".config/other", "needle\n")
	b.put("id_ed25519", "needle\n")
	b.put(".env", "needle\n")
	const left = "4 left out where programs keep keys: to look there, name the path"
	for name, args := range map[string]m{"grep": {"pattern": "needle"}, "glob": {"pattern": "**"}} {
		got := b.ok(name, args)
		for _, want := range []string{"a.go", ".env", ".config/other", left} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in:\n%s", name, want, got)
			}
		}
		for _, lack := range []string{"credentials", "hosts.yml", "id_ed25519", ".ssh/"} {
			if strings.Contains(got, lack) {
				t.Errorf("%s: %q is in:\n%s", name, lack, got)
			}
		}
	}
	if got := b.ok("grep", m{"pattern": "needle", "path": "sub/.ssh"}); !strings.Contains(got, "config") || strings.Contains(got, "left out") {
		t.Errorf("a search among the keys: %s", got)
	}
	if got := b.ok("glob", m{"pattern": "*", "path": ".config"}); strings.Contains(got, "hosts") || !strings.Contains(got, "1 left out where") {
		t.Errorf("a search above them: %s", got)
	}
}

// The same holds for files that an editor finds.
func TestEditorsSearchesLeaveOutKeys(t *testing.T) {
	b := newBed(t)
	found := []string{b.put("a.go", "needle\n"), b.put(".aws/credentials", "canary\n"), b.put("sub/.ssh/config", "canary\n")}
	w := &window{caps: ide.Caps{References: true, Glob: true}}
	w.do = func(_ context.Context, c ide.Call) (ide.Reply, error) {
		if _, ok := c.(ide.GlobFiles); ok {
			return ide.FilePaths{Paths: found}, nil
		}
		return ide.Places{Items: []ide.Place{{Path: found[1], Line: 1, Column: 1}, {Path: found[0], Line: 1, Column: 1}}}, nil
	}
	b.editor = w
	if got, want := b.ok("glob", m{"pattern": "**"}), "a.go\n\n[2 left out where programs keep keys: to look there, name the path]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := b.ok("glob", m{"pattern": "*", "path": "sub/.ssh"}), "sub/.ssh/config\n"; got != want {
		t.Errorf("among the keys: got %q, want %q", got, want)
	}
	if got, want := b.ok("editor_references", m{"path": "a.go", "line": 1, "symbol": "needle"}), ".aws/credentials:1:1 (programs keep keys there)\na.go:1:1: needle\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A file with other names may also be outside: the access for the policy says so, and
// a search leaves the file out.
func TestLinkedFilesAreNotRead(t *testing.T) {
	b := newBed(t)
	victim := b.put(filepath.Join(b.away, "v.txt"), "needle\n")
	b.put("a.txt", "needle\n")
	if err := os.Link(victim, filepath.Join(b.dir, "h.txt")); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		return // on systems that do not report it
	}
	for _, tool := range []string{"read_file", "grep"} {
		for path, want := range map[string]bool{"h.txt": true, "a.txt": false, victim: false} {
			args := m{"path": path}
			if tool == "grep" {
				args["pattern"] = "needle"
			}
			_, p, err := b.preview(tool, args)
			if err != nil || p.Access[0].Linked != want {
				t.Errorf("%s %s: %+v, %v", tool, path, p.Access, err)
			}
		}
	}
	got := b.ok("grep", m{"pattern": "needle"})
	if !strings.Contains(got, "a.txt") || strings.Contains(got, "h.txt") || !strings.Contains(got, "1 left out that match and have other names (hard links): to look into one, name it") {
		t.Error(got)
	}
	if got := b.ok("grep", m{"pattern": "needle", "path": "h.txt"}); !strings.Contains(got, "h.txt:1:needle") {
		t.Errorf("a file that is named: %s", got)
	}
	if got := b.ok("grep", m{"pattern": "nothing"}); strings.Contains(got, "left out") {
		t.Errorf("a file that does not match: %s", got)
	}
}

// The access for the policy says so if a workspace is the home folder or contains it,
// but not for a workspace inside the home folder, even if that is also a root in a
// wide workspace.
func TestWideWorkspaces(t *testing.T) {
	b := newBed(t)
	home := b.dir
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	b.put("x", "")
	b.put("app/y", "")
	b.put(filepath.Join(b.away, "x"), "")
	b.link(home, "../link")
	link := filepath.Join(filepath.Dir(home), "link")
	for _, c := range []struct {
		roots []string
		path  string
		want  bool
	}{
		{[]string{home}, home + "/x", true},
		{[]string{home}, home + "/app/y", true},
		{[]string{link}, home + "/x", true},
		{[]string{filepath.Dir(home)}, home + "/x", true},
		{[]string{filepath.VolumeName(home) + string(filepath.Separator)}, home + "/x", true},
		{[]string{home + "/app"}, home + "/app/y", false},
		{[]string{home, home + "/app"}, home + "/app/y", false},
		{[]string{home, home + "/app"}, home + "/x", true},
		{[]string{b.away}, b.away + "/x", false},
		{[]string{b.away}, home + "/x", false},
	} {
		b.meta = core.Meta{ID: "s1", Cwd: c.roots[0], Roots: c.roots}
		b.open()
		_, p, err := b.preview("read_file", m{"path": c.path})
		if err != nil {
			t.Fatalf("%s in %q: %v", c.path, c.roots, err)
		}
		if got := p.Access[0].Wide; got != c.want {
			t.Errorf("%s in %q: wide %v", c.path, c.roots, got)
		}
	}
}
