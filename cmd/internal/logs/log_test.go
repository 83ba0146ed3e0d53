package logs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"dragoman/configs"
)

// An unread pipe holds 64 KiB on most systems. Lines that fit neither there nor in the backlog
// are dropped and counted; nothing waits.
func TestFullPipeBlocksNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, err := Open(Options{Level: "info", Err: w})
	if err != nil {
		t.Fatal(err)
	}
	const many = 5000
	long := zap.String("text", strings.Repeat("x", 1000))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range many {
			l.Logger.Info("line", long)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("logging waits for a pipe that nobody reads")
	}
	// When the pipe is read at last, the stored lines come, then the number of dropped ones.
	var got bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = got.ReadFrom(r) })
	if !l.out.close(20 * time.Second) {
		t.Fatal("the log was not written although it is read")
	}
	w.Close()
	reading.Wait()
	lines := strings.Split(strings.TrimSpace(got.String()), "\n")
	kept, lost := 0, 0
	for _, line := range lines {
		if strings.Contains(line, "INFO line") {
			kept++
		}
		if _, fields, found := strings.Cut(line, "lines of this log were lost"); found {
			var f struct{ Lost int }
			if err := json.Unmarshal([]byte(fields[strings.Index(fields, "{"):]), &f); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			lost += f.Lost
		}
	}
	if lost == 0 || kept+lost != many {
		t.Errorf("%d lines were kept and %d reported lost, of %d", kept, lost, many)
	}
}

// The end of the program does not wait for an unread stderr.
func TestStuckLogIsLeftBehind(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	l := newWriter(w, func(int) []byte { return nil })
	l.start()
	l.Write(bytes.Repeat([]byte("x"), backlog)) //nolint:errcheck // it never fails
	if l.close(10 * time.Millisecond) {
		t.Error("more was written than a pipe takes")
	}
}

func TestLogFollowsTheConfiguration(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "logs", "dragoman.log")
	var errs bytes.Buffer
	open := func(o Options) *Log {
		o.Err, o.Env = &errs, func(string) (string, bool) { return "", false }
		l, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	c := configs.Defaults()
	c.Log.Level, c.Log.File = "debug", configs.NewValue(file)

	l := open(Options{})
	l.Logger.Info("before")
	l.Follow(c.Log)
	l.Logger.With(zap.Int("n", 1)).Debug("after")
	l.Close()
	var line map[string]any
	if err := json.Unmarshal(read(t, file), &line); err != nil || line["msg"] != "after" || line["n"] != 1.0 || line["level"] != "debug" {
		t.Errorf("%v, %v", line, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info, err)
	}
	if errs.Len() > 0 {
		t.Errorf("on standard error: %s", &errs)
	}

	// A flag takes precedence over the file.
	other := filepath.Join(home, "other.log")
	l = open(Options{Level: "WARN", File: other})
	l.Follow(c.Log)
	l.Logger.Info("too small")
	l.Logger.Warn("kept")
	l.Close()
	if got := string(read(t, other)); strings.Count(got, "\n") != 1 || !strings.Contains(got, "kept") {
		t.Errorf("%s", got)
	}

	// A file that cannot be opened leaves the log unchanged, with a warning.
	c.Log.File = configs.NewValue(home)
	l = open(Options{})
	l.Follow(c.Log)
	l.Close()
	if !strings.Contains(errs.String(), "the log stays on standard error") {
		t.Errorf("%s", &errs)
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
