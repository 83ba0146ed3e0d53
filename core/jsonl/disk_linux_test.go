package jsonl_test

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dragoman/core"
	"dragoman/core/jsonl"
)

const fullAt = 20_000 // bytes, for each file of the child

var errFull = error(unix.EFBIG)

// lessRoom makes the kernel refuse to make a file larger than fullAt, in the middle of
// a write if necessary.
func lessRoom() error {
	signal.Ignore(unix.SIGXFSZ)
	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &have); err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: fullAt, Max: have.Max})
}

func moreRoom() error {
	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &have); err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: have.Max, Max: have.Max})
}

// TestFileCannotGrow: a partial write is cut off.
func TestFileCannotGrow(t *testing.T) {
	dir := t.TempDir()
	create(t, dir, "s1")
	c := start(t, "fill", dir, "s1")
	if got := c.line(t); got != "whole" {
		t.Error(got)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// TestDiskFull fills a real file system, where one may be mounted.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	j := create(t, dir, "s1")
	other := create(t, dir, "s2")
	epoch, err := j.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, []byte(strings.Repeat("b", 100<<10)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := next(j, epoch, core.Claimed{Epoch: epoch})
	for err == nil {
		err = j.Write(t.Context(), []core.Record{r})
		if err == nil {
			r = core.Record{Epoch: epoch, Seq: r.Seq + 1, Event: core.Notice{Text: strings.Repeat("x", 3000)}}
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("Write to a full disk: %v", err)
	}
	if got := read(t, j); uint64(len(got)) != r.Seq-1 {
		t.Errorf("%d records, want %d", len(got), r.Seq-1)
	}
	_, err = jsonl.New(dir).Create(t.Context(), core.Meta{ID: "s3", Principal: core.Local, Created: time.Unix(1, 0)})
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Create on a full disk: %v", err)
	}
	big := r
	big.Event = core.Notice{Text: strings.Repeat("x", 300<<10)}
	if err := j.Write(t.Context(), []core.Record{big}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Write of a big value to a full disk: %v", err)
	}
	if got := read(t, other); len(got) != 1 {
		t.Errorf("the other session has %d records", len(got))
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := j.Write(t.Context(), []core.Record{r}); err != nil {
		t.Errorf("Write when there is room again: %v", err)
	}
	if got := read(t, j); uint64(len(got)) != r.Seq {
		t.Errorf("%d records, want %d", len(got), r.Seq)
	}
	create(t, dir, "s3")
}
