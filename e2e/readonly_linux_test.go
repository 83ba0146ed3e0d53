package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A data folder that cannot be written still shows its sessions, also one whose turn a
// crash has cut short: as interrupted, not as running.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	made := p.edit(t, ecaDialect(), launch{})
	whole, broken := made.begin(), made.begin()
	if got := made.run(whole, "stream 2 of 3"); got != endOK {
		t.Fatalf("before: %q", got)
	}
	made.prompt(broken, "stream 3 of 30 then run echo never")
	made.question(broken)
	made.kill()
	made.lastWords()
	freeze(t, p.data)

	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			e := p.edit(t, d, launch{})
			wantStream(t, "the session that ended", e.load(whole).text, 6)
			v := e.load(broken)
			wantStream(t, "the session that was interrupted", v.text, 90)
			if !strings.Contains(strings.Join(v.facts, "\n"), "interrupted") {
				t.Errorf("it is not shown as interrupted:\n%s", strings.Join(v.facts, "\n"))
			}
			if told := e.refused(broken, "stream 1 of 4"); !strings.Contains(told, "read-only") && !strings.Contains(told, "permission denied") {
				t.Errorf("a prompt that cannot be stored is told %q", told)
			}
			e.stop()
		})
	}
	t.Run("mcp", func(t *testing.T) {
		c := p.call(t, launch{})
		for _, id := range []string{whole, broken} {
			if r := c.use("session_get", object{"session_id": id}); r.IsError || !strings.Contains(r.text(), "The of") {
				t.Errorf("session_get: %s", r.text())
			} else if strings.Contains(r.text(), "running") || id == broken && !strings.Contains(r.text(), "interrupted") {
				t.Errorf("the session that was interrupted is shown as\n%s", r.text())
			}
		}
		if r := c.use("session_list", object{}); !strings.Contains(r.text(), whole) || !strings.Contains(r.text(), broken) {
			t.Errorf("session_list: %s", r.text())
		}
		c.leave()
	})
	for _, gone := range []bool{false, true} {
		if gone {
			thaw(t, p.data)
			if err := os.Remove(filepath.Join(p.data, "index.jsonl")); err != nil {
				t.Fatal(err)
			}
			freeze(t, p.data)
		}
		out, errs, code := p.run(t, "sessions", "list")
		if code != 0 || !strings.Contains(out, whole) || !strings.Contains(out, broken) {
			t.Errorf("sessions list, without an index %v: %d %s%s", gone, code, out, errs)
		}
	}
	for _, id := range []string{whole, broken} {
		out, errs, code := p.run(t, "sessions", "show", id)
		if code != 0 || !strings.Contains(out, "The of") || strings.Contains(out, "running") || strings.Contains(out, "interrupted") != (id == broken) {
			t.Errorf("sessions show: %d %s%s", code, out, errs)
		}
	}
}

// freeze keeps a folder from being written, whoever we are.
func freeze(t *testing.T, dir string) {
	t.Helper()
	t.Cleanup(func() { thaw(t, dir) })
	if os.Geteuid() != 0 {
		changeModes(t, dir, func(mode os.FileMode) os.FileMode { return mode &^ 0o222 })
		return
	}
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("root can write everywhere, and mounting is not allowed: %v", err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}

func thaw(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		changeModes(t, dir, func(mode os.FileMode) os.FileMode { return mode | 0o200 })
		return
	}
	_ = syscall.Unmount(dir, syscall.MNT_DETACH) // it may be unlocked already
}

func changeModes(t *testing.T, dir string, change func(os.FileMode) os.FileMode) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, change(fi.Mode().Perm()))
	})
	if err != nil {
		t.Error(err)
	}
}
