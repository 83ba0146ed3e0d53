package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"dragoman/core/child"
)

// starter starts programs: a session, or a guard without a sandbox.
type starter interface {
	Start(cmd *exec.Cmd) (*child.Group, error)
}

// once runs a shell that does nothing, and returns how long that took.
func once(b *testing.B, s starter, dir string) time.Duration {
	b.Helper()
	cmd := exec.Command("/bin/sh", "-c", "true")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
	began := time.Now()
	g, err := s.Start(cmd)
	if err != nil {
		b.Fatal(err)
	}
	g.Await()
	g.Spare()
	if how := g.Close(); !how.Success() {
		b.Fatal(how)
	}
	return time.Since(began)
}

func median(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2])
}

// BenchmarkCommand compares a command in a sandbox with one without: the session's first, and one more.
// Each round measures all, so that a busy machine slows all of them down.
func BenchmarkCommand(b *testing.B) {
	b.Run("small", func(b *testing.B) { compareCommands(b, 0, nil) })
	b.Run("50000 files", func(b *testing.B) { compareCommands(b, 500, nil) })
	b.Run("50000 files and a rule", func(b *testing.B) {
		compareCommands(b, 500, func(path string) bool { return filepath.Base(path) == ".env" })
	})
}

// compareCommands measures in a workspace with folders of 100 files.
func compareCommands(b *testing.B, folders int, denied func(string) bool) {
	home := resolve(b.TempDir())
	root := filepath.Join(home, "project")
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		b.Fatalf("%v %s", err, out)
	}
	for _, name := range []string{"AGENTS.md", ".mcp.json", ".envrc"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("text\n"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 100 * folders {
		path := filepath.Join(root, "src", strconv.Itoa(i/100), strconv.Itoa(i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	all := NewSessions(newSystem(), filepath.Join(home, "data"))
	first, next := map[child.Level][]time.Duration{}, map[child.Level][]time.Duration{}
	measure := func(level child.Level, s starter) {
		first[level] = append(first[level], once(b, s, root))
		for range 5 {
			next[level] = append(next[level], once(b, s, root))
		}
	}
	for _, level := range []child.Level{child.Full, child.Files} {
		if got, why := all.Level(level); got != level {
			b.Fatalf("level %s: %s", got, why)
		}
	}
	for b.Loop() {
		bare := &child.Guard{}
		measure(child.None, bare)
		bare.Close()
		for _, level := range []child.Level{child.Full, child.Files} {
			w := Workspace{Roots: []string{root}, Home: home, Env: func(string) string { return "" }, Most: level, Denied: denied}
			s, release := all.Hold(string(level), func() Workspace { return w })
			measure(level, s)
			release()
		}
	}
	for _, level := range []child.Level{child.Full, child.Files} {
		b.ReportMetric(median(first[level])/median(first[child.None]), "first-"+string(level)+"/none")
		b.ReportMetric(median(next[level])/median(next[child.None]), "next-"+string(level)+"/none")
	}
	b.ReportMetric(median(first[child.None])/1e6, "first-none-ms")
	b.ReportMetric(median(next[child.None])/1e6, "next-none-ms")
}
