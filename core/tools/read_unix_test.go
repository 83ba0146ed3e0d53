//go:build unix

package tools

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Files that would block, or never end, are refused at once.
func TestPipesAndDevices(t *testing.T) {
	b := newBed(t)
	fifo := filepath.Join(b.dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	sock, err := net.Listen("unix", filepath.Join(b.dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	for name, want := range map[string]string{"fifo": "named pipe", "s": "socket"} {
		b.fails("read_file", m{"path": name}, want)
		b.fails("grep", m{"path": name, "pattern": "x"}, want)
		b.fails("write_file", m{"path": name, "content": "x"}, want)
		b.fails("edit_file", m{"path": name, "old": "x", "new": "y"}, want)
	}
	b.put("a.txt", "x\n")
	if got := b.ok("grep", m{"pattern": "x"}); got != "a.txt:1:x\n" {
		t.Errorf("grep: %q", got)
	}
	if got := b.ok("directory_tree", m{}); !strings.Contains(got, "fifo (not a file)") {
		t.Errorf("tree: %q", got)
	}
	// A pipe that replaces a file between Preview and Run.
	inv, _, err := b.preview("read_file", m{"path": "a.txt"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fifo, filepath.Join(b.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if out, err := b.finish("read_file", inv); err == nil {
		t.Errorf("read: %q", out)
	}
	// A sparse file of a terabyte is all NUL.
	f, err := os.Create(filepath.Join(b.dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Skip(err)
	}
	b.fails("read_file", m{"path": "sparse"}, "binary")
	b.fails("edit_file", m{"path": "sparse", "old": "x", "new": "y"}, "larger than")
	if got := b.ok("grep", m{"pattern": "zz"}); !strings.Contains(got, "1 files above 16 MB were left out") {
		t.Errorf("grep: %q", got)
	}
}

func TestModes(t *testing.T) {
	b := newBed(t)
	path := b.put("run.sh", "one\n")
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	b.ok("edit_file", m{"path": "run.sh", "old": "one", "new": "two"})
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v", info.Mode())
	}
	mask := syscall.Umask(0o027)
	defer syscall.Umask(mask)
	b.ok("write_file", m{"path": "new/f.txt", "content": "x"})
	if info, _ := os.Stat(filepath.Join(b.dir, "new/f.txt")); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if os.Getuid() != 0 {
		if err := os.Chmod(path, 0o440); err != nil {
			t.Fatal(err)
		}
		b.fails("edit_file", m{"path": "run.sh", "old": "two", "new": "three"}, "permission denied")
	}
	// No other files are left in the folder.
	if got := b.ok("glob", m{"pattern": "**"}); got != "new/f.txt\nrun.sh\n" {
		t.Errorf("left: %q", got)
	}
}
