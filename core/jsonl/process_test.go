package jsonl_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/jsonl"
)

// The tests start this binary again as other processes of the same store. This
// variable chooses the action of such a child; its arguments are in childDir and
// childID.
const (
	childDoes = "JSONL_TEST_CHILD"
	childDir  = "JSONL_TEST_DIR"
	childID   = "JSONL_TEST_ID"
)

// competing is the number of claims of each competing child.
const competing = 10

func TestMain(m *testing.M) {
	do := map[string]func(dir string, id core.SessionID) error{
		"own": childOwn, "write": childWrite, "compete": childCompete, "fill": childFill,
	}[os.Getenv(childDoes)]
	if do == nil {
		os.Exit(m.Run())
	}
	if err := do(os.Getenv(childDir), core.SessionID(os.Getenv(childID))); err != nil {
		fmt.Println("error:", err)
		syscall.Exit(1)
	}
	syscall.Exit(0) // with os.Exit the race detector sleeps for a second first
}

// child is another process.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, do, dir string, id core.SessionID) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: exec.Command(self)}
	c.Env = append(os.Environ(), childDoes+"="+do, childDir+"="+dir, childID+"="+string(id))
	c.Stderr = os.Stderr
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.kill() })
	return c
}

// line reads a line of the child's output.
func (c *child) line(t *testing.T) string {
	t.Helper()
	s, err := c.out.ReadString('\n')
	if err != nil || strings.HasPrefix(s, "error:") {
		t.Fatalf("a child said %q, %v", s, err)
	}
	return strings.TrimSpace(s)
}

// kill ends the child at once, without its cooperation, and returns its output.
func (c *child) kill() (said string) {
	_ = c.Process.Kill()
	rest, _ := io.ReadAll(c.out)
	_ = c.Wait()
	return string(rest)
}

// childOwn claims a session and keeps the claim until it is killed.
func childOwn(dir string, id core.SessionID) error {
	j, err := jsonl.New(dir).Open(context.Background(), core.Local, id)
	if err != nil {
		return err
	}
	epoch, err := j.Claim(context.Background())
	if err != nil {
		return err
	}
	if err := j.Write(context.Background(), []core.Record{next(j, epoch, core.Claimed{Epoch: epoch})}); err != nil {
		return err
	}
	fmt.Println(epoch)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// childWrite writes records of all sizes and prints the number of each when it is
// written.
func childWrite(dir string, id core.SessionID) error {
	j, err := jsonl.New(dir).Open(context.Background(), core.Local, id)
	if err != nil {
		return err
	}
	epoch, err := j.Claim(context.Background())
	if err != nil {
		return err
	}
	r := next(j, epoch, core.Claimed{Epoch: epoch})
	for n := 0; ; n++ {
		if err := j.Write(context.Background(), []core.Record{r}); err != nil {
			return err
		}
		if _, err := fmt.Println(r.Seq); err != nil {
			return err
		}
		size := n * 37 % 5000
		if n%20 == 19 {
			size = 300 << 10 // in a file of its own
		}
		r = core.Record{Epoch: epoch, Seq: r.Seq + 1, Event: core.Notice{Severity: core.Info, Text: strings.Repeat("x", size) + strconv.Itoa(n)}}
	}
}

// childCompete claims and releases a session repeatedly, and checks that it is alone
// in between.
func childCompete(dir string, id core.SessionID) error {
	inside := filepath.Join(dir, "inside")
	for range competing {
		j, err := jsonl.New(dir).Open(context.Background(), core.Local, id)
		if err != nil {
			return err
		}
		var epoch uint64
		for {
			if epoch, err = j.Claim(context.Background()); err == nil {
				break
			}
			if owned := (*core.OwnedError)(nil); !errors.As(err, &owned) {
				return err
			}
		}
		f, err := os.OpenFile(inside, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("two own the session at once: %w", err)
		}
		err = errors.Join(f.Close(), j.Write(context.Background(), []core.Record{next(j, epoch, core.Claimed{Epoch: epoch})}), os.Remove(inside), j.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

// next returns the record that follows a log.
func next(j core.Journal, epoch uint64, ev core.Event) core.Record {
	at := core.Pos{Seq: 1}
	for r, err := range j.Read(context.Background(), core.Pos{}) {
		if err != nil {
			break // the write will fail
		}
		at = r.End()
	}
	if at.Off > 0 {
		at.Seq++
	}
	return core.Record{Epoch: epoch, Seq: at.Seq, Time: time.Unix(1, 0), Event: ev}
}

func create(t *testing.T, dir string, id core.SessionID) core.Journal {
	t.Helper()
	s := jsonl.New(dir)
	t.Cleanup(func() { _ = s.Close() })
	j, err := s.Create(t.Context(), core.Meta{ID: id, Principal: core.Local, Cwd: "/home/ada/app", Created: time.Unix(1, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func read(t *testing.T, j core.Journal) (records []core.Record) {
	t.Helper()
	for r, err := range j.Read(t.Context(), core.Pos{}) {
		if err != nil {
			t.Fatalf("Read: %v", err)
		}
		records = append(records, r)
	}
	return records
}

// TestOwnerDies: a session of a living process cannot be claimed, one of a dead
// process can.
func TestOwnerDies(t *testing.T) {
	dir := t.TempDir()
	j := create(t, dir, "s1")
	c := start(t, "own", dir, "s1")
	first := c.line(t)
	_, err := j.Claim(t.Context())
	owned := (*core.OwnedError)(nil)
	if !errors.As(err, &owned) || !strings.Contains(owned.Node, strconv.Itoa(c.Process.Pid)) {
		t.Fatalf("Claim of what process %d owns: %v", c.Process.Pid, err)
	}
	if err := jsonl.New(dir).Delete(t.Context(), core.Local, "s1"); !errors.As(err, &owned) {
		t.Errorf("Delete of what another process owns: %v", err)
	}
	c.kill()
	second, err := j.Claim(t.Context())
	if err != nil || strconv.FormatUint(second-1, 10) != first {
		t.Errorf("Claim after its death: epoch %d, %v; it had %s", second, err, first)
	}
}

// TestKilledWhileWriting: all acknowledged records are there after the death of a
// process, and the next owner continues with a sound log.
func TestKilledWhileWriting(t *testing.T) {
	dir := t.TempDir()
	j := create(t, dir, "s1")
	for round := range 4 {
		c := start(t, "write", dir, "s1")
		said := ""
		for range 1 + round*40 {
			said = c.line(t)
		}
		if more := strings.Split(c.kill(), "\n"); len(more) > 1 {
			said = more[len(more)-2] // the last is cut
		}
		written, err := strconv.Atoi(said)
		if err != nil {
			t.Fatal(err)
		}
		got := read(t, j)
		for i, r := range got {
			if r.Seq != uint64(i)+1 {
				t.Fatalf("record %d has the number %d", i+1, r.Seq)
			}
			if u, ok := r.Event.(core.Unknown); ok {
				t.Fatalf("record %d was lost: %s", r.Seq, u.Raw)
			}
		}
		if len(got) < written {
			t.Fatalf("%d records were written, %d are there", written, len(got))
		}
		epoch, err := j.Claim(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if last := got[len(got)-1].Epoch; epoch != last+1 {
			t.Errorf("the epoch is %d after %d", epoch, last)
		}
		if err := j.Write(t.Context(), []core.Record{next(j, epoch, core.Claimed{Epoch: epoch})}); err != nil {
			t.Fatal(err)
		}
		if after := read(t, j); len(after) != len(got)+1 {
			t.Fatalf("%d records after %d and one more", len(after), len(got))
		}
		if err := j.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProcessesCompete: of eight processes no two own a session at the same time.
func TestProcessesCompete(t *testing.T) {
	dir := t.TempDir()
	j := create(t, dir, "s1")
	var children []*child
	for range 8 {
		children = append(children, start(t, "compete", dir, "s1"))
	}
	for _, c := range children {
		out, err := io.ReadAll(c.out)
		if err := errors.Join(err, c.Wait()); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	got := read(t, j)
	for i, r := range got {
		if r.Epoch != uint64(i) {
			t.Fatalf("record %d is of epoch %d", r.Seq, r.Epoch)
		}
	}
	if len(got) != 1+8*competing {
		t.Errorf("%d records, want %d", len(got), 1+8*competing)
	}
}

// TestDeleteRaces lets claims, deletions and creations of one session compete. Each of
// them excludes the others, so a claim is never of a session that is gone.
func TestDeleteRaces(t *testing.T) {
	dir := t.TempDir()
	meta := core.Meta{ID: "s1", Principal: core.Local, Cwd: "/x", Created: time.Unix(1, 0)}
	expected := func(err error) bool {
		owned := (*core.OwnedError)(nil)
		return err == nil || errors.As(err, &owned) || errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrExists)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		s := jsonl.New(dir)
		t.Cleanup(func() { _ = s.Close() })
		wg.Go(func() {
			for n := range 20 {
				if i < 3 && n%2 == i%2 {
					if err := s.Delete(t.Context(), core.Local, "s1"); !expected(err) {
						t.Errorf("Delete: %v", err)
					}
					continue
				}
				j, err := s.Create(t.Context(), meta)
				if errors.Is(err, core.ErrExists) {
					j, err = s.Open(t.Context(), core.Local, "s1")
				}
				if !expected(err) {
					t.Errorf("Create or Open: %v", err)
				}
				if err != nil {
					continue
				}
				epoch, err := j.Claim(t.Context())
				if err == nil {
					err = j.Write(t.Context(), []core.Record{next(j, epoch, core.Claimed{Epoch: epoch})})
					if err != nil { // no other process can have deleted or claimed it
						t.Errorf("Write to what was claimed: %v", err)
					}
				}
				if !expected(err) {
					t.Errorf("Claim: %v", err)
				}
				if err := j.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
		})
	}
	wg.Wait()
	s := jsonl.New(dir)
	if err := s.Delete(t.Context(), core.Local, "s1"); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "sessions", "*", "*")); len(left) > 0 {
		t.Errorf("Delete left %v", left)
	}
}
