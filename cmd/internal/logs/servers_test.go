package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Lines that many processes write about one server stay whole, and the file is bounded.
func TestServerLogsAreBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	var all sync.WaitGroup
	const writers, lines = 4, 2000
	for i := range writers {
		all.Go(func() { // in place of another process
			l := &Servers{dir: dir, now: time.Now, of: map[string]*writer{}}
			for j := range lines {
				l.Add("x", "info", fmt.Sprintf("%d-%d %s", i, j, strings.Repeat("y", 500)))
				if j%100 == 99 { // no faster than the writer
					l.mu.Lock()
					w := l.of["x"]
					l.mu.Unlock()
					for waiting := 1; waiting > 0; {
						runtime.Gosched()
						w.mu.Lock()
						waiting = len(w.waiting)
						w.mu.Unlock()
					}
				}
			}
			for _, w := range l.of {
				if !w.close(time.Minute) {
					t.Error("the log was not written")
				}
			}
		})
	}
	all.Wait()
	path := serverPath(dir, "x")
	for _, p := range []string{path, older(path)} {
		b, err := os.ReadFile(p)
		if p == path && errors.Is(err, fs.ErrNotExist) {
			continue // the last line was over the limit
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 || len(b) > maxFile+writers*backlog {
			t.Errorf("%s holds %d bytes", p, len(b))
		}
		for line := range strings.Lines(string(b)) {
			if len(line) < 500 || len(line) > 600 || !strings.HasSuffix(line, "yyy\n") {
				t.Fatalf("a line is torn: %q", line)
			}
		}
		if info, err := os.Stat(p); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%v, %v", info, err)
		}
	}
}

// A client may give its server any name.
func TestServerLogPath(t *testing.T) {
	for name, want := range map[string]string{
		"files": "files.log", "a-b_C9": "a-b_C9.log", "../../x": "%2e%2e%2f%2e%2e%2fx.log", "": ".log", "a b\x00": "a%20b%00.log", strings.Repeat("x", 500): strings.Repeat("x", 120) + ".log",
	} {
		if got := serverPath("logs", name); got != filepath.Join("logs", want) {
			t.Errorf("%q: %s", name, got)
		}
	}
}

func TestServerLogsAreRead(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := &Servers{dir: dir, now: func() time.Time { at = at.Add(time.Second); return at }, of: map[string]*writer{}}
	x := rotatedLog(serverPath(dir, "x"))
	say := func(to rotatedLog, text string) {
		t.Helper()
		if _, err := to.Write(l.line("info", text)); err != nil {
			t.Fatal(err)
		}
	}
	r := &Reader{dir: dir, of: map[string]*place{}}
	expect := func(want ...string) {
		t.Helper()
		got, err := r.next()
		for i := range got {
			got[i] = got[i][len("2026-01-02T03:04:05.000Z "):]
		}
		if err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
	expect()
	say(x, "one\n\x1b[2Jtwo")
	say(rotatedLog(serverPath(dir, "y")), "three")
	say(x, "four")
	expect("x: info  one \uFFFD[2Jtwo", "y: info  three", "x: info  four")
	expect()
	f, err := os.OpenFile(string(x), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	line := string(l.line("warn", "five"))
	if _, err := f.WriteString(line[:30]); err != nil {
		t.Fatal(err)
	}
	expect() // the last line is incomplete
	if _, err := f.WriteString(line[30:]); err != nil {
		t.Fatal(err)
	}
	f.Close()
	aside := func() {
		t.Helper()
		if err := os.Rename(string(x), older(string(x))); err != nil {
			t.Fatal(err)
		}
	}
	aside()
	expect("x: warn  five")
	expect()
	say(x, "six")
	expect("x: info  six")
	say(x, "seven")
	aside()
	say(x, "eight")
	expect("x: info  seven", "x: info  eight")
	expect()
	fresh := &Reader{dir: dir, only: []string{string(x)}, of: map[string]*place{}}
	if got, err := fresh.next(); err != nil || len(got) != 3 || !strings.HasSuffix(got[0], "info  six") {
		t.Errorf("from the beginning: %q, %v", got, err)
	}
}
