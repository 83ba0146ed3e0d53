//go:build unix

package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dragoman/core/child"
	"dragoman/core/child/childtest"
)

// terminals returns those of a session that ends with the test.
func terminals(t *testing.T) *Terminals {
	t.Helper()
	guard := &child.Guard{}
	ts := &Terminals{Shell: Find(""), Guard: guard, Grace: time.Minute}
	t.Cleanup(func() {
		ts.Close()
		guard.Close()
	})
	return ts
}

// start starts a request in an empty folder unless it names one.
func start(t *testing.T, ts *Terminals, r Request) *Terminal {
	t.Helper()
	if r.Dir == "" {
		r.Dir = t.TempDir()
	}
	term, err := ts.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return term
}

// ended waits for the end of a terminal's command, and returns what it has printed.
func ended(t *testing.T, term *Terminal) Output {
	t.Helper()
	exit, err := term.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := term.Output()
	if out.Exit == nil || *out.Exit != exit {
		t.Errorf("it ended with %+v, and its output says %+v", exit, out.Exit)
	}
	return out
}

// printing starts a request and returns once its command has printed something.
func printing(t *testing.T, ts *Terminals, r Request) *Terminal {
	t.Helper()
	printed := make(chan struct{}, 1)
	r.Output = func(string) {
		select {
		case printed <- struct{}{}:
		default:
		}
	}
	term := start(t, ts, r)
	select {
	case <-printed:
	case <-term.Done():
		t.Fatalf("it ended: %+v", term.Output())
	}
	return term
}

// Nobody learns of the end of a command before the one who wants to know first has taken it down.
func TestTerminalHasEndedForOneFirst(t *testing.T) {
	ts := terminals(t)
	told, noted := make(chan Output), make(chan struct{})
	term := start(t, ts, Request{Command: "echo x; exit 3", Ended: func(out Output) {
		told <- out
		<-noted
	}})
	if out := <-told; out.Text != "x\n" || out.Exit == nil || out.Exit.Code != 3 {
		t.Errorf("it was told %+v", out)
	}
	if out := term.Output(); out.Exit != nil || term.Ended() {
		t.Errorf("it has ended for others: %+v", out)
	}
	close(noted)
	if exit, err := term.Wait(t.Context()); err != nil || exit.Code != 3 {
		t.Errorf("it ended with %+v, %v", exit, err)
	}
}

func TestTerminal(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/prog", []byte("#!/bin/sh\necho prog \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ts := terminals(t)
	ts.Environ = func() []string {
		return []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "SECRET=canary", "MINE=kept", "PAGER=less"}
	}
	ts.Keep = []string{"MINE"}
	env := map[string]string{"GIVEN": "a b", "LANG": "C", "PAGER": "more"}
	for _, c := range []struct {
		req  Request
		text string
		exit Exit
	}{
		// A command with arguments is not read by a shell, one without is.
		{Request{Command: "printf", Args: []string{"%s|", "$HOME", "*", "a b", ";"}}, "$HOME|*|a b|;|", Exit{}},
		{Request{Command: "printf '%s|' a b && exit 3"}, "a|b|", Exit{Code: 3}},
		{Request{Command: "-x 2>/dev/null; echo y"}, "y\n", Exit{}}, // it is no option of the shell
		{Request{Command: "./prog", Args: []string{"x y"}}, "prog x y\n", Exit{}},
		{Request{Command: dir + "/prog", Args: []string{""}}, "prog \n", Exit{}},
		{Request{Command: "eval", Args: []string{"echo a b"}}, "a b\n", Exit{}}, // only a shell has it
		{Request{Command: "sh", Args: []string{"-c", "echo out; echo err >&2; kill -KILL $$"}}, "out\nerr\n", Exit{-1, "SIGKILL"}},
		{Request{Command: "pwd; cat; echo $PWD"}, dir + "\n" + dir + "\n", Exit{}}, // it has no input
		{Request{Command: `echo "$GIVEN|$LANG|$SECRET|$MINE|$PAGER|$GIT_TERMINAL_PROMPT"`, Env: env}, "a b|C||kept|more|0\n", Exit{}},
		{Request{Command: "env", Args: []string{"sh", "-c", `echo "$GIVEN|$LANG|$SECRET"`}, Env: env}, "a b|C|\n", Exit{}},
		{Request{Command: "echo x", Remarks: func() string { return "[a host was refused]\n" }}, "x\n[a host was refused]\n", Exit{}},
		{Request{Command: "echo x", Remarks: func() string { return "" }}, "x\n", Exit{}},
		{Request{Command: `printf 'a\377b\303\0c\342\202'`}, "a\ufffdb\ufffd\ufffdc\ufffd\ufffd", Exit{}},
	} {
		c.req.Dir = dir
		var live strings.Builder
		c.req.Output = func(s string) { live.WriteString(s) }
		out := ended(t, start(t, ts, c.req))
		if out.Text != c.text || live.String() != c.text || *out.Exit != c.exit || out.Truncated {
			t.Errorf("%s %q: %q (%q), %+v, want %q, %+v", c.req.Command, c.req.Args, out.Text, live.String(), out, c.text, c.exit)
		}
	}
	out := ended(t, start(t, ts, Request{Command: "no-such-program", Args: []string{"x"}, Dir: dir}))
	if out.Exit.Code != 127 || !strings.Contains(out.Text, "no-such-program") {
		t.Errorf("a program that is missing: %+v", out)
	}
}

func TestTerminalThatCannotStart(t *testing.T) {
	ts := terminals(t)
	for _, c := range []struct {
		req  Request
		want string
	}{
		{Request{Command: "./absent", Args: []string{"x"}, Dir: t.TempDir()}, "no such file"},
		{Request{Command: "echo", Args: []string{"x"}, Dir: "/no/such/folder"}, "no such file"},
		{Request{Command: "echo x", Dir: "/no/such/folder"}, "no such file"},
	} {
		if _, err := ts.Start(t.Context(), c.req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.req.Command, err)
		}
	}
	if ts.Busy() || len(ts.list) > 0 {
		t.Errorf("left: %d", len(ts.list))
	}
	ts.Shell = Shell{}
	if _, err := ts.Start(t.Context(), Request{Command: "echo x", Dir: "/"}); err == nil || !strings.Contains(err.Error(), "no shell") {
		t.Error(err)
	}
	ts.Close()
	if _, err := ts.Start(t.Context(), Request{Command: "echo", Args: []string{"x"}, Dir: "/"}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// Of a long output the end is kept, in whole characters.
func TestTerminalKeepsTheEnd(t *testing.T) {
	ts := terminals(t)
	whole := strings.Repeat("é", 50_000) + "ende"
	for limit, want := range map[int]int{1: 1, 5: 4, 6: 6, 1000: 1000, 1001: 1000, 100_003: 100_002, 100_004: 100_004, 200_000: 100_004} {
		out := ended(t, start(t, ts, Request{Command: `printf 'é%.0s' $(seq 50000); printf ende`, Limit: limit}))
		if len(out.Text) != want || !strings.HasSuffix(whole, out.Text) || out.Truncated != (want < len(whole)) {
			t.Errorf("limit %d: %d bytes, truncated %v; want %d", limit, len(out.Text), out.Truncated, want)
		}
	}
}

// A flood is passed on whole while memory stays bounded.
func TestTerminalFlood(t *testing.T) {
	ts := terminals(t)
	const lines = 700_000 // of 15 bytes
	var count, most int
	var mem runtime.MemStats
	out := ended(t, start(t, ts, Request{Command: "seq -f 'é line %07.0f' 700000", Limit: 10_000, Output: func(s string) {
		if !utf8.ValidString(s) {
			t.Error("a piece is cut within a character")
		}
		if count += len(s); count/(1<<20) != (count-len(s))/(1<<20) {
			runtime.ReadMemStats(&mem)
			most = max(most, int(mem.HeapInuse))
		}
	}}))
	if count != lines*16 {
		t.Errorf("%d bytes were passed on, want %d", count, lines*16)
	}
	if !strings.HasSuffix(out.Text, "é line 0700000\n") || len(out.Text) > 10_000 || len(out.Text) < 9_990 || !out.Truncated {
		t.Errorf("kept: %d bytes %q", len(out.Text), out.Text[max(len(out.Text)-30, 0):])
	}
	if most > 32<<20 {
		t.Errorf("%d bytes of memory", most)
	}
}

func TestTerminalKilledWhileOneWaits(t *testing.T) {
	for name, c := range map[string]struct {
		line   string
		grace  time.Duration
		signal string
	}{
		"obeys":    {"echo runs; sleep 600", time.Minute, "SIGTERM"},
		"stubborn": {`trap "" TERM; echo runs; while :; do sleep 0.05; done`, 100 * time.Millisecond, "SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			ts := terminals(t)
			ts.Grace = c.grace
			term := printing(t, ts, Request{Command: c.line})
			if !ts.Busy() || term.Output().Exit != nil {
				t.Error("it runs, and is not said to")
			}
			waited := make(chan Exit)
			go func() {
				exit, _ := term.Wait(context.Background())
				waited <- exit
			}()
			impatient, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := term.Wait(impatient); !errors.Is(err, context.Canceled) {
				t.Errorf("waiting did not end with its context: %v", err)
			}
			if err := term.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			if exit := <-waited; exit != (Exit{-1, c.signal}) {
				t.Errorf("ended with %+v", exit)
			}
			if err := term.Kill(t.Context()); err != nil {
				t.Error(err)
			}
			if out := term.Output(); !strings.HasPrefix(out.Text, "runs\n") || ts.Find(term.ID) != term || ts.Busy() {
				t.Errorf("after the kill: %+v", out)
			}
		})
	}
}

func TestTerminalReleasedWhileItRuns(t *testing.T) {
	ts := terminals(t)
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	term := printing(t, ts, Request{Command: "echo runs; sleep " + odd + " & sleep " + odd + "; true"})
	other := printing(t, ts, Request{Command: "echo runs; sleep 600"})
	childtest.Soon(t, "all of it runs", func() bool { return len(childtest.Asleep(t, odd)) == 2 })
	if err := term.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := childtest.Asleep(t, odd); len(left) > 0 || ts.Find(term.ID) != nil {
		t.Errorf("left: %v, found %v", left, ts.Find(term.ID))
	}
	if out := term.Output(); out.Text != "runs\n" || out.Exit == nil {
		t.Errorf("its output is gone: %+v", out)
	}
	if other.Ended() || ts.Find(other.ID) != other {
		t.Error("the other terminal was ended")
	}
	ts.Close()
	if !other.Ended() || ts.Find(other.ID) != nil {
		t.Error("the session has ended, and its terminal has not")
	}
}

// An agent that releases nothing has a bounded number of terminals.
func TestTerminalsAreBounded(t *testing.T) {
	ts := terminals(t)
	var first, last *Terminal
	for i := range maxEnded + 5 {
		last = start(t, ts, Request{Command: fmt.Sprintf("echo %d", i)})
		if ended(t, last); i == 0 {
			first = last
		}
	}
	if ts.Find(first.ID) != nil || ts.Find(last.ID) != last || len(ts.list) > maxEnded+1 {
		t.Errorf("%d are kept", len(ts.list))
	}
	for range maxRunning {
		start(t, ts, Request{Command: "sleep", Args: []string{"600"}})
	}
	_, err := ts.Start(t.Context(), Request{Command: "true", Dir: "/"})
	if err == nil || !strings.Contains(err.Error(), "end one of them first") {
		t.Errorf("one more: %v", err)
	}
}
