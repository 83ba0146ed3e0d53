package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// playVar names a program that a test plays behind the binary: an MCP server or an external agent.
const playVar = "DRAGOMAN_E2E_PLAY"

// plays are these programs. Each reads lines from standard input and ends with it.
var plays = map[string]func(){}

// playIfAsked plays a program and ends the process, if it was started for that.
func playIfAsked() {
	if play, ok := plays[os.Getenv(playVar)]; ok {
		play()
		os.Exit(0)
	}
}

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	playIfAsked()
	dir, err := os.MkdirTemp("", "dragoman-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := 1
	if binary, err = build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// building links without tables for debuggers, as make build does: it takes a third less time.
var building = []string{"build", "-buildvcs=false", "-ldflags", "-s -w"}

// build builds the binary, with DRAGOMAN_E2E_RACE=1 with the race detector, which "make
// race-e2e" wants: it makes everything many times as long. With DRAGOMAN_E2E_BINARY another one is
// tested, a released one say.
func build(dir string) (string, error) {
	if given := os.Getenv("DRAGOMAN_E2E_BINARY"); given != "" {
		return given, nil
	}
	out := filepath.Join(dir, "dragoman")
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	args := slices.Concat(building, []string{"-o", out})
	cgo := "CGO_ENABLED=0"
	if raced() {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.Command("go", append(args, "../cmd/dragoman")...)
	cmd.Env = append(os.Environ(), cgo)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return out, nil
}

// quick is the binary without the race detector, for tests that are about sizes and
// numbers, and for those that start it often.
var quick = sync.OnceValues(func() (string, error) {
	if !raced() || os.Getenv("DRAGOMAN_E2E_BINARY") != "" {
		return binary, nil
	}
	out := filepath.Join(filepath.Dir(binary), "quick-"+filepath.Base(binary))
	args := slices.Concat(building, []string{"-o", out, "../cmd/dragoman"})
	if text, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %v\n%s", err, text)
	}
	return out, nil
})

// quickly has the binary of a launch be quick.
func quickly(t testing.TB) launch {
	t.Helper()
	path, err := quick()
	if err != nil {
		t.Fatal(err)
	}
	return launch{binary: path}
}

// everyVariant reports whether tests that combine several things are to try all combinations (make test-all), and not
// those alone in which each thing has its turn.
func everyVariant() bool { return os.Getenv("DRAGOMAN_E2E_ALL") != "" }

// raced reports whether the binary under test is to be built with the race detector.
func raced() bool { return os.Getenv("DRAGOMAN_E2E_RACE") != "" }

// place is where one test's processes live: a home, a data folder, a workspace.
type place struct {
	home, data, work string
	env              []string
}

func newPlace(t testing.TB) *place { t.Helper(); return placeIn(t, t.TempDir()) }

// placeIn makes a place in a folder.
func placeIn(t testing.TB, dir string) *place {
	t.Helper()
	p := &place{home: filepath.Join(dir, "home"), data: filepath.Join(dir, "data"), work: filepath.Join(dir, "work")}
	for _, d := range []string{p.home, p.work} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.write(t, "notes.txt", "first note\nsecond note\n")
	p.env = []string{"HOME=" + p.home, "DRAGOMAN_DATA=" + p.data, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "GORACE=atexit_sleep_ms=0"}
	if root := os.Getenv("SystemRoot"); root != "" {
		p.env = append(p.env, "SystemRoot="+root, "USERPROFILE="+p.home)
	}
	return p
}

// write writes a file of the workspace.
func (p *place) write(t testing.TB, name, text string) {
	t.Helper()
	p.put(t, filepath.Join(p.work, name), text)
}

// config writes the user's configuration and returns its path.
func (p *place) config(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(p.home, "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs the binary to its end and returns what it printed.
func (p *place) run(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Dir = p.env, p.work
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// nodeEnv is the environment of the drivers: the server inherits it.
func (p *place) nodeEnv() []string { return slices.Concat(p.env, []string{"NO_COLOR=1"}) }
