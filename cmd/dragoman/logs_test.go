package main

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

// A pipe that nobody reads holds 64 KiB on most systems. What does not fit, there
// and in the backlog, is dropped and counted; nobody waits.
func TestFullPipeBlocksNobody(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, err := openLog(logOptions{level: "info", errs: w})
	if err != nil {
		t.Fatal(err)
	}
	const many = 5000
	long := zap.String("text", strings.Repeat("x", 1000))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range many {
			l.logger.Info("line", long)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("logging waits for a pipe that nobody reads")
	}
	// Somebody reads at last: what was kept comes, then the count of what was not.
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

// The end of the program does not wait for a stderr that nobody reads.
func TestStuckLogIsLeftBehind(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	l := newLogWriter(w, func(int) []byte { return nil })
	l.start()
	l.Write(bytes.Repeat([]byte("x"), logBacklog)) //nolint:errcheck // it never fails
	if l.close(10 * time.Millisecond) {
		t.Error("more was written than a pipe takes")
	}
}

func TestLogFollowsTheConfiguration(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(p.home, "logs", "dragoman.log")
	var errs bytes.Buffer
	open := func(o logOptions) *logs {
		o.errs, o.env = &errs, p.lookup
		l, err := openLog(o)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	c := configs.Defaults()
	c.Log.Level, c.Log.File = "debug", configs.NewValue(file)

	l := open(logOptions{})
	l.logger.Info("before")
	l.follow(c.Log)
	l.logger.With(zap.Int("n", 1)).Debug("after")
	l.close()
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

	// A flag wins over the file.
	other := filepath.Join(p.home, "other.log")
	l = open(logOptions{level: "WARN", file: other})
	l.follow(c.Log)
	l.logger.Info("too small")
	l.logger.Warn("kept")
	l.close()
	if got := string(read(t, other)); strings.Count(got, "\n") != 1 || !strings.Contains(got, "kept") {
		t.Errorf("%s", got)
	}

	// A file that cannot be opened leaves the log where it is, and says so.
	c.Log.File = configs.NewValue(p.home)
	l = open(logOptions{})
	l.follow(c.Log)
	l.close()
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

// At the default level nothing of a conversation is logged, and nothing at all
// where nothing is wrong; at any level, nothing goes to standard output.
func TestLogHoldsNoPrompt(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(p.home, "all.log")
	for _, level := range []string{"warn", "debug"} {
		out := p.well(t, "think secret-word then run echo secret-word\ny\n", "chat", "--log-level", level, "--log-file", file)
		if !strings.Contains(out, "secret-word") || strings.Contains(out, `"level"`) {
			t.Errorf("%s", out)
		}
		got := string(read(t, file))
		if strings.Contains(got, "secret-word") {
			t.Errorf("at level %s the log holds the prompt: %s", level, got)
		}
		if level == "warn" && got != "" {
			t.Errorf("nothing was wrong, and the log says: %s", got)
		}
	}
	if got := string(read(t, file)); !strings.Contains(got, "configuration read") {
		t.Errorf("at level debug the log says: %s", got)
	}
}
