package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/program/programtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(programtest.Run(m, &binary)) }

// place is the environment of one test's processes.
type place struct {
	home, work, data string
	env              map[string]string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := programtest.NewPlace(t)
	return &place{home: p.Home, work: p.Work, data: p.Data, env: p.Env}
}

func (p *place) write(t testing.TB, path, text string) {
	t.Helper()
	programtest.Write(t, path, text)
}

// config writes the user's configuration and returns its path.
func (p *place) config(t testing.TB, text string) string {
	t.Helper()
	return (&programtest.Place{Env: p.env}).Config(t, text)
}

// servers writes mcp.json and returns its path.
func (p *place) servers(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "mcp.json")
	p.write(t, path, text)
	return path
}

func (p *place) lookup(name string) (string, bool) {
	v, ok := p.env[name]
	return v, ok
}

func (p *place) environ() []string {
	var vars []string
	for k, v := range p.env {
		vars = append(vars, k+"="+v)
	}
	return vars
}

// command returns the program, ready to be started here.
func (p *place) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Dir = p.environ(), p.work
	return cmd
}

// outcome is the result of a run.
type outcome struct {
	out, errs string
	code      int
}

// run runs the program to its end.
func (p *place) run(t testing.TB, stdin string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := p.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", args, err)
	}
	return outcome{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// well runs the program and fails if the run fails.
func (p *place) well(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	o := p.run(t, stdin, args...)
	if o.code != program.ExitOK {
		t.Fatalf("%v: exit code %d\n%s\n%s", args, o.code, o.out, o.errs)
	}
	return o.out
}

// golden compares a text with a file, after replacing parts that differ from run to run by names.
func (p *place) golden(t *testing.T, name, got string, named ...string) {
	t.Helper()
	named = append(named, binary, "BINARY", p.home, "HOME", p.work, "WORK", p.data, "DATA")
	got = strings.NewReplacer(named...).Replace(got)
	path := filepath.Join("testdata", name)
	if *update {
		p.write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test ./cmd/dragoman -update and read the difference\n-- want --\n%s-- got --\n%s", path, want, got)
	}
}

// unixOnly skips tests that need the signals or permissions of Unix.
func unixOnly(t *testing.T) {
	t.Helper()
	programtest.UnixOnly(t)
}
