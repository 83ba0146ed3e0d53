//go:build unix

package guide

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/tools/txtar"
)

// Pipes do not block, and unreadable files lead to warnings.
func TestPipes(t *testing.T) {
	dir := tree(t, []txtar.File{file("ws/a.md", "@pipe.md @locked.md"), file("ws/locked.md", "x"), file("ws/.eca/rules/a.md", "a rule"), file("ws/.eca/skills/x/y", "")})
	for _, name := range []string{"AGENTS.md", "pipe.md", ".eca/rules/pipe.md", ".eca/skills/x/SKILL.md"} {
		if err := syscall.Mkfifo(filepath.Join(dir, "ws", name), 0o644); err != nil {
			t.Skipf("no pipes here: %v", err)
		}
	}
	if err := os.Symlink("a.md", filepath.Join(dir, "ws", "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	want := []string{"AGENTS.md: was not read: it is not a regular file", "pipe.md: was not read: it is not a regular file", "rules/pipe.md: was left out: it is not a regular", "SKILL.md: was left out: it is not a regular"}
	if os.Getuid() != 0 {
		if err := os.Chmod(filepath.Join(dir, "ws", "locked.md"), 0); err != nil {
			t.Fatal(err)
		}
		want = append(want[:2], append([]string{"locked.md: was not read: permission denied"}, want[2:]...)...)
	}
	g := load(t, options(dir, ""))
	warned(t, g.Warnings(), want...)
	if len(g.Rules()) != 1 {
		t.Errorf("%v", g.Rules())
	}
}
