// Command bench measures the program beside a bare Go program and an agent without anything (package
// limit), and writes BENCHMARKS.md and bench.svg. It builds all three, serves the models itself, and
// needs nothing of the surrounding environment.
//
//	go run ./e2e/bench                         everything
//	BENCH=start,stream go run ./e2e/bench      some parts, only printed
//	BENCH_FORCE=1                              even if the machine is busy
//	BENCH_PROFILES=DIR                         profiles of the program while it works, instead of figures
//	DRAGOMAN_E2E_BINARY=FILE                   another binary than the one that is built here
package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// bench is one run.
type bench struct {
	tmp      string
	model    *model
	dragoman string
	bare     program
	limit    program
	profiles string // a folder for profiles; empty: figures are wanted
	sockets  int    // of programs that serve profiles of themselves
	running  map[*client]*os.File
	homes    int

	report bytes.Buffer
	charts charts
}

// parts lists the measurements in the order of the report.
var parts = []struct {
	name string
	run  func(*bench)
}{
	{"start", (*bench).starts},
	{"turn", (*bench).turns},
	{"stream", (*bench).stream},
	{"latency", (*bench).latency},
	{"long", (*bench).long},
	{"sessions", (*bench).sessions},
	{"list", (*bench).list},
	{"search", (*bench).search},
	{"complete", (*bench).complete},
	{"shell", (*bench).shell},
	{"calls", (*bench).calls},
	{"idle", (*bench).idle},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(fault)
			if !ok {
				panic(r)
			}
			err = f.error
		}
	}()
	wanted, err := chosen(os.Getenv("BENCH"))
	if err != nil {
		return err
	}
	before, _ := load()
	if before > 1 && os.Getenv("BENCH_FORCE") == "" {
		return fmt.Errorf("the load of the last minute is %.2f: figures of a busy machine mean nothing. Try again when it is below 1, or set BENCH_FORCE=1", before)
	}
	b := &bench{profiles: os.Getenv("BENCH_PROFILES"), running: map[*client]*os.File{}}
	if b.tmp, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.tmp)
	defer func() {
		for c := range b.running { // a fault has left them
			_ = c.cmd.Process.Kill()
			_ = c.cmd.Wait()
		}
	}()
	b.model = newModel()
	defer (*httptest.Server).Close(b.model.Server)
	defer b.model.CloseClientConnections()
	if err := b.build(); err != nil {
		return err
	}
	began := time.Now()
	for _, p := range parts {
		if !slices.Contains(wanted, p.name) {
			continue
		}
		at, from := time.Now(), b.report.Len()
		p.run(b)
		fmt.Fprintf(os.Stderr, "%s\n%s: %.0f s\n", b.report.Bytes()[from:], p.name, time.Since(at).Seconds())
	}
	after, _ := load()
	fmt.Fprintf(os.Stderr, "load %.2f before, %.2f after; %.0f s\n", before, after, time.Since(began).Seconds())
	if len(wanted) < len(parts) || b.profiles != "" {
		return nil
	}
	return b.write(before, after)
}

// chosen returns the parts that a comma-separated list names; empty and ".": all.
func chosen(list string) (names []string, err error) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	if list == "" || list == "." {
		return names, nil
	}
	wanted := strings.Split(list, ",")
	for _, w := range wanted {
		if !slices.Contains(names, w) {
			return nil, fmt.Errorf("there is no part %q; the parts are %s", w, strings.Join(names, ", "))
		}
	}
	return wanted, nil
}

// build builds the programs as "make build" does.
func (b *bench) build() error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for name, pkg := range map[string]string{"dragoman": "./cmd/dragoman", "bare": "./e2e/testdata/bare", "limit": "./e2e/testdata/limit"} {
		if given := os.Getenv("DRAGOMAN_E2E_BINARY"); given != "" && name == "dragoman" {
			b.dragoman, err = filepath.Abs(given)
			if err != nil {
				return err
			}
			continue
		}
		out := filepath.Join(b.tmp, name)
		if runtime.GOOS == "windows" {
			out += ".exe"
		}
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", out, pkg)
		cmd.Dir = strings.TrimSpace(string(root))
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			return errors.Join(fmt.Errorf("go build %s: %w", pkg, err), errors.New(string(text)))
		}
		if name == "dragoman" {
			b.dragoman = out
		}
	}
	b.bare = program{"bare", []string{filepath.Join(b.tmp, "bare")}, "acp"}
	b.limit = program{"limit", []string{filepath.Join(b.tmp, "limit"), b.model.api()}, "acp"}
	return nil
}

// serving is the program as it serves a protocol.
func (b *bench) serving(protocol string, flags ...string) program {
	return program{protocol, append([]string{b.dragoman, protocol}, flags...), protocol}
}

// home makes a home with a configuration, and an empty workspace.
func (b *bench) home(config string) (home, work string) {
	b.homes++
	dir := filepath.Join(b.tmp, fmt.Sprint("place", b.homes))
	home, work = filepath.Join(dir, "home"), filepath.Join(dir, "work")
	check(os.MkdirAll(filepath.Join(home, ".config", "dragoman"), 0o700))
	check(os.MkdirAll(work, 0o700))
	text := fmt.Sprintf("model: mock/any\nproviders:\n  mock: {kind: openai-chat, base_url: %q, api_key: none, models: {any: {}}}\n%s", b.model.api(), config)
	check(os.WriteFile(filepath.Join(home, ".config", "dragoman", "config.yaml"), []byte(text), 0o600))
	return home, work
}

// write writes BENCHMARKS.md and bench.svg.
func (b *bench) write(before, after float64) error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return err
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "e2e")
	text := fmt.Sprintf(intro, time.Now().UTC().Format(time.DateOnly), machine(), runtime.NumCPU(), runtime.Version(), before, after) + b.report.String()
	if err := os.WriteFile(filepath.Join(dir, "BENCHMARKS.md"), []byte(text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "bench.svg"), b.charts.svg(), 0o644)
}

// intro is what the report begins with.
const intro = `# Benchmarks

Written by "make bench" on %s: %s, %d processors, %s. The load of the last minute was %.2f before and %.2f
after the run. Absolute figures are those of this machine; the ratios are what to look at.

![Latency, processor time and memory](bench.svg)

**Method.** The model is a mock server in the program that measures. *bare* is a Go program of ten lines
that answers a line with a line (testdata/bare): what any start costs. *limit* is an agent without anything
(testdata/limit): it passes the model's text on and keeps, checks and logs nothing. *acp*, *eca* and *mcp*
are dragoman, with a configuration of one model. All are built without cgo. What is compared is measured by
turns in one run, and all of it in two rounds. Two values are the least and the median. Ratios are of the
least values for starts and processor time, and of medians for latency.
`
