package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"dragoman/core/child"
)

// A program in a sandbox of its own keeps what belongs to it, keys too, but for the settings that decide
// what it runs the next time without a sandbox. Its /tmp goes with it.
func TestAlone(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(string(level), func(t *testing.T) {
			home := resolve(t.TempDir())
			p := &place{t: t, level: level, home: home, root: filepath.Join(home, "project")}
			p.mkdir(p.root)
			for _, name := range []string{".claude/settings.json", ".claude/.credentials.json", ".claude.json", ".codex/auth.json"} {
				p.write(filepath.Join(home, name), "old\n")
			}
			data := filepath.Join(home, ".local/share/dragoman")
			ss := NewSessions(newSystem(), data)
			g, release, err := ss.Alone("agent", Workspace{
				Roots: []string{p.root}, Home: home, Env: func(string) string { return "" }, Hidden: []string{data}, Most: level,
				Own: []string{filepath.Join(home, ".claude"), filepath.Join(home, ".claude.json"), filepath.Join(home, ".missing")}, Open: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			var out bytes.Buffer
			cmd := exec.Command("/bin/sh", "-c", `echo x > project/made; echo new > .claude/session; cat .claude/.credentials.json .claude.json
				echo more >> .claude.json; echo more >> .claude/.credentials.json; echo more >> .claude/settings.json; cat .codex/auth.json; echo x > outside; echo x > $TMPDIR/x; true`)
			cmd.Dir, cmd.Env, cmd.Stdout = home, []string{"PATH=" + os.Getenv("PATH")}, &out
			group, err := g.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			group.Await()
			group.Close()
			if out.String() != "old\nold\n" {
				t.Errorf("it could read %q", out.String())
			}
			for name, want := range map[string]string{
				"project/made": "x\n", ".claude/session": "new\n", ".claude.json": "old\nmore\n", ".claude/.credentials.json": "old\nmore\n", ".codex/auth.json": "old\n", "outside": "",
			} {
				if text, _ := os.ReadFile(filepath.Join(home, name)); string(text) != want {
					t.Errorf("%s is %q, want %q", name, text, want)
				}
			}
			if text, _ := os.ReadFile(filepath.Join(home, ".claude/settings.json")); level == child.Full && string(text) != "old\n" {
				t.Errorf("the settings are %q", text)
			}
			release()
			if left, _ := filepath.Glob(filepath.Join(data, "tmp/*")); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}

// Where nothing can be confined nothing is started.
func TestAloneNowhere(t *testing.T) {
	system := &System{failed: errors.New("there is nothing here")}
	g, _, err := NewSessions(system, t.TempDir()).Alone("x", Workspace{Env: func(string) string { return "" }})
	if g != nil || err == nil || !strings.Contains(err.Error(), "there is nothing here") {
		t.Errorf("%v %v", g, err)
	}
}

// The guard of a sandbox holds a file that is outside of it: a lock on that is free only when what runs in
// the sandbox is gone.
func TestAloneKeepsFiles(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(string(level), func(t *testing.T) {
			home := resolve(t.TempDir())
			data := filepath.Join(home, ".local/share/dragoman")
			p := &place{t: t, level: level, home: home, root: filepath.Join(home, "project")}
			p.mkdir(p.root)
			p.write(filepath.Join(data, "lock"), "")
			g, release, err := NewSessions(newSystem(), data).Alone("agent", Workspace{
				Roots: []string{p.root}, Home: home, Env: func(string) string { return "" }, Hidden: []string{data}, Most: level, Open: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			lock := func() (*os.File, error) {
				f, err := os.Open(filepath.Join(data, "lock"))
				if err != nil {
					t.Fatal(err)
				}
				return f, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
			}
			f, err := lock()
			if err == nil {
				_, err = g.Keep(f)
			}
			if err != nil {
				t.Fatal(err)
			}
			f.Close() // as when we die
			cmd := exec.Command("/bin/sh", "-c", "exec sleep 1000000")
			cmd.Dir, cmd.Env = p.root, []string{"PATH=" + os.Getenv("PATH")}
			group, err := g.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			if f, err = lock(); err == nil {
				t.Error("the lock is free while a program runs")
			}
			f.Close()
			release()
			group.Close()
			if f, err = lock(); err != nil {
				t.Errorf("the lock behind the end of the sandbox: %v", err)
			}
			f.Close()
		})
	}
}
