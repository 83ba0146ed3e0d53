package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// A program swaps control files and their folders for links that lead outside while other commands
// end, so that they are put back beneath it. Nothing outside is touched, and when it has ended all
// is as it was before.
func TestSwappedWhilePutBack(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t, level)
			files := map[string]string{
				"AGENTS.md": "mine", ".vscode/tasks.json": "mine", ".git/config": "[core]\n", ".git/hooks/pre-commit": "mine", ".config/fish/config.fish": "mine",
			}
			outside := filepath.Join(p.home, "outside")
			for name, text := range files {
				p.write(name, text)
				p.write(filepath.Join(outside, name), "theirs")
			}
			p.write(".git/HEAD", "ref: refs/heads/main\n")
			p.mkdir(filepath.Join(p.root, ".git/objects"))
			swapped := []string{"AGENTS.md", ".vscode", ".git", ".config", "CLAUDE.md", ".dragoman"}
			for _, name := range swapped {
				if err := os.Symlink(filepath.Join(outside, name), filepath.Join(p.root, name+".out")); err != nil {
					t.Fatal(err)
				}
			}
			line := p.probing() + "swap"
			for _, name := range swapped {
				line += " " + name
			}
			job, out := p.start(line)
			for i := 0; i < 10 || len(p.aside) == 0 && i < 1000; i++ { // the program may take a while to start
				_, _ = p.run("true")
			}
			p.write("stop", "")
			job.Await()
			job.Close()
			if len(p.aside) == 0 {
				t.Errorf("nothing was set aside: it proves nothing: %s", out)
			}
			for name, text := range files {
				if got := p.read(name); got != text {
					t.Errorf("%s is %q", name, got)
				}
				if text, err := os.ReadFile(filepath.Join(outside, name)); string(text) != "theirs" {
					t.Errorf("outside: %s is %q %v", name, text, err)
				}
			}
			for _, name := range swapped {
				if info, err := os.Lstat(filepath.Join(p.root, name)); err == nil && info.Mode().Type() == os.ModeSymlink {
					t.Errorf("%s is a link", name)
				}
			}
		})
	}
}

// A program cannot give a workspace a repository that is elsewhere, with settings of its own.
func TestRepositoryElsewhere(t *testing.T) {
	for _, level := range levels(t) {
		for _, line := range []string{"ln -s evil .git", "echo gitdir: evil > .git"} {
			p := newPlace(t, level)
			if out, code := p.run("git init -q --bare evil && git -C evil config core.fsmonitor ./evil.sh && " + line); code != 0 {
				t.Fatal(out)
			}
			if _, err := os.Lstat(filepath.Join(p.root, ".git")); err == nil || len(p.aside) != 1 || p.aside[0].Change != Appeared {
				t.Errorf("%s, %s: %v %+v", level, line, err, p.aside)
			}
		}
	}
}
