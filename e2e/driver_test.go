package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// seen is one line that a driver printed.
type seen struct {
	T    float64
	Kind string
	raw  []byte
}

// get reads a field; a missing one is the zero value.
func get[T any](s seen, name string) (v T) {
	var m map[string]json.RawMessage
	if json.Unmarshal(s.raw, &m) == nil {
		_ = json.Unmarshal(m[name], &v) // absent or of another type: zero
	}
	return v
}

// session is what a driver saw.
type session struct {
	t      testing.TB
	events []seen
	code   int
}

// drive runs a driver against the binary. Its arguments are the driver's, "--",
// and the binary's.
func (p *place) drive(t testing.TB, name string, args ...string) *session {
	t.Helper()
	dir := needClients(t)
	for i, a := range args {
		if a == "--" {
			args = append(args[:i+1:i+1], append([]string{binary}, args[i+1:]...)...)
			break
		}
	}
	return p.driven(t, "node", append([]string{filepath.Join(dir, name), "--cwd", p.work}, args...)...)
}

// driven runs a program that prints what it sees, line by line.
func (p *place) driven(t testing.TB, program string, args ...string) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = p.nodeEnv(), p.work
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.Process == nil {
		t.Fatal(err)
	}
	s := &session{t: t, code: cmd.ProcessState.ExitCode()}
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		ev := seen{raw: bytes.Clone(lines.Bytes())}
		if err := json.Unmarshal(ev.raw, &ev); err != nil {
			t.Fatalf("%s printed %q", program, ev.raw)
		}
		s.events = append(s.events, ev)
	}
	if err != nil {
		t.Errorf("%s %s: %v\n%s\n%s", filepath.Base(program), strings.Join(args, " "), err, errs.String(), s.tail())
	}
	return s
}

// tail is the end of what was seen, without raw lines, for messages.
func (s *session) tail() string {
	var b strings.Builder
	for _, ev := range s.events {
		if ev.Kind != "raw" {
			b.Write(ev.raw[:min(len(ev.raw), 600)])
			b.WriteByte('\n')
		}
	}
	text := b.String()
	return text[max(0, len(text)-6000):]
}

// all lists what was seen of a kind.
func (s *session) all(kind string) (list []seen) {
	for _, ev := range s.events {
		if ev.Kind == kind {
			list = append(list, ev)
		}
	}
	return list
}

// one is the n-th of a kind; it must be there.
func (s *session) one(kind string, n int) seen {
	s.t.Helper()
	list := s.all(kind)
	if n >= len(list) {
		s.t.Fatalf("there are %d lines of kind %q, not %d:\n%s", len(list), kind, n+1, s.tail())
	}
	return list[n]
}

// raw joins the raw lines of one direction.
func (s *session) raw(dir string) string {
	var b strings.Builder
	for _, ev := range s.all("raw") {
		if get[string](ev, "dir") == dir {
			b.WriteString(get[string](ev, "line"))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func wantText(t testing.TB, what, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%s lacks %q:\n%.2000s", what, part, got)
		}
	}
}
