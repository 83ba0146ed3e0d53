package integrity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// answers count the questions of a store, and answer them.
type answers struct {
	yes   bool
	err   error
	asked []Change
}

func (a *answers) ask(_ context.Context, c Change) (bool, error) {
	a.asked = append(a.asked, c)
	return a.yes, a.err
}

// The first start records a program. A change is asked about once, with what was and what is; without an
// agreement the agent is not started.
func TestChangedProgram(t *testing.T) {
	data, home := t.TempDir(), t.TempDir()
	path := filepath.Join(home, "bin", "agent")
	write(t, path, "#!/bin/sh\n# one\n")
	write(t, filepath.Join(home, "package.json"), `{"name": "agent", "version": "1.0.0"}`)
	c := Command{Agent: "mine", Words: []string{"agent"}, Path: path}
	check := func(a *answers) error { return In(data, data).Check(t.Context(), c, a.ask) }
	a := &answers{}
	for range 2 {
		if err := check(a); err != nil || len(a.asked) > 0 {
			t.Fatalf("%v; %v", err, a.asked)
		}
	}
	write(t, path, "#!/bin/sh\n# two\n") // as long as before
	write(t, filepath.Join(home, "package.json"), `{"name": "agent", "version": "2.0.0"}`)
	var wrong *Error
	if err := In(data, data).Check(t.Context(), c, nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "no person can be asked here") || !strings.Contains(err.Error(), "dragoman agents approve mine") {
		t.Errorf("without a person: %v", err)
	}
	if err := check(a); !errors.As(err, &wrong) || len(a.asked) != 1 || !strings.Contains(err.Error(), "it was not approved") {
		t.Errorf("refused: %v; %v", err, a.asked)
	}
	if text := a.asked[0].Text(); !strings.Contains(text, "before: version 1.0.0, ") || !strings.Contains(text, "now:    version 2.0.0, ") || !strings.Contains(text, path) {
		t.Errorf("the question: %s", text)
	}
	a.yes = true
	for range 2 {
		if err := check(a); err != nil || len(a.asked) != 2 {
			t.Errorf("agreed: %v; %d questions", err, len(a.asked))
		}
	}
	// A new command of the user's own is another record.
	other := c
	other.Words = []string{"agent", "--acp"}
	if err := In(data, data).Check(t.Context(), other, nil); err != nil {
		t.Error(err)
	}
	// Another time alone is no change.
	if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := In(data, data).Check(t.Context(), c, nil); err != nil {
		t.Error(err)
	}
	if err := In(data, data).Forget(t.Context(), "mine"); err != nil {
		t.Error(err)
	}
	write(t, path, "three")
	if err := In(data, data).Check(t.Context(), c, nil); err != nil {
		t.Errorf("after it was forgotten: %v", err)
	}
	write(t, filepath.Join(data, programsFile), "{")
	if err := check(a); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("records that cannot be read: %v", err)
	}
}

// A program of the same size whose time was set back is noticed where the system has a time that cannot
// be set.
func TestChangeWithItsTimeSetBack(t *testing.T) {
	data, path := t.TempDir(), filepath.Join(t.TempDir(), "agent")
	write(t, path, "good")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	c := Command{Agent: "mine", Words: []string{"agent"}, Path: path}
	if err := In(data, data).Check(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	write(t, path, "evil")
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := In(data, data).Check(t.Context(), c, nil); runtime.GOOS == "linux" && err == nil {
		t.Error("it is not noticed")
	}
}

// Where an interpreter runs a script the script counts, and of a link what it leads to.
func TestWhatOfACommandCounts(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	node, script := filepath.Join(dir, "node"), filepath.Join(dir, "v1", "agent.js")
	write(t, node, "node")
	write(t, script, "script")
	c := Command{Agent: "js", Words: []string{"node", "agent.js"}, Path: node, Args: []string{"--flag", script, "acp"}}
	s := In(data, data)
	if err := s.Check(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	write(t, node, "another node")
	if err := s.Check(t.Context(), c, nil); err != nil {
		t.Errorf("another node: %v", err)
	}
	write(t, script, "another script")
	if err := s.Check(t.Context(), c, nil); err == nil {
		t.Error("another script is not noticed")
	}
	if runtime.GOOS == "windows" {
		return
	}
	link := filepath.Join(dir, "agent")
	write(t, filepath.Join(dir, "v2", "agent"), "same")
	write(t, filepath.Join(dir, "v3", "agent"), "same")
	if err := os.Symlink("v2/agent", link); err != nil {
		t.Fatal(err)
	}
	l := Command{Agent: "link", Words: []string{"agent"}, Path: link}
	if err := s.Check(t.Context(), l, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("v3/agent", link); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context(), l, nil); err == nil {
		t.Error("a link to another program is not noticed")
	}
}

// installed makes an installed agent of some files.
func installed(t testing.TB, data string, files map[string]string) (Folder, Command) {
	t.Helper()
	f := Folder{filepath.Join(data, "demo", "1.0.0")}
	for name, text := range files {
		write(t, filepath.Join(f.Path, name), text)
	}
	tree, err := Scan(t.Context(), f.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Keep(Manifest{ID: "demo", Version: "1.0.0", Files: tree}); err != nil {
		t.Fatal(err)
	}
	return f, Command{Agent: "demo", Words: []string{"x"}, Path: filepath.Join(f.Path, "agent")}
}

// Of what was installed every file counts. Whatever changes is asked about once.
func TestInstalledTree(t *testing.T) {
	data := t.TempDir()
	f, c := installed(t, data, map[string]string{"agent": "a", "lib/one.js": "1", "lib/two.js": "2"})
	in := func(name string) string { return filepath.Join(f.Path, filepath.FromSlash(name)) }
	for _, change := range []struct {
		name string
		do   func() error
		want string
	}{
		{"content", func() error { return os.WriteFile(in("lib/one.js"), []byte("x"), 0o700) }, "1 changed: lib/one.js"},
		{"a file more", func() error { return os.WriteFile(in("lib/evil.js"), []byte("x"), 0o700) }, "1 new: lib/evil.js"},
		{"a file less", func() error { return os.Remove(in("lib/two.js")) }, "1 missing: lib/two.js"},
		{"a mode", func() error { return os.Chmod(in("lib/one.js"), 0o500) }, "1 changed: lib/one.js"},
		{"a link", func() error {
			return errors.Join(os.Remove(in("lib/one.js")), os.Symlink("evil.js", in("lib/one.js")))
		}, "1 changed: lib/one.js"},
	} {
		if runtime.GOOS == "windows" && (change.name == "a mode" || change.name == "a link") {
			continue
		}
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		if err := In(data, data).Check(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), change.want) {
			t.Errorf("%s: %v", change.name, err)
		}
		if _, d, err := f.Check(t.Context()); err != nil || d.String() != change.want {
			t.Errorf("%s: %s, %v", change.name, d, err)
		}
		a := &answers{yes: true}
		for range 2 {
			if err := In(data, data).Check(t.Context(), c, a.ask); err != nil || len(a.asked) != 1 {
				t.Errorf("%s, agreed: %v; %d questions", change.name, err, len(a.asked))
			}
		}
	}
	if err := os.Remove(f.Path + ".json"); err != nil {
		t.Fatal(err)
	}
	if err := In(data, data).Check(t.Context(), c, (&answers{yes: true}).ask); err == nil || !strings.Contains(err.Error(), "has no manifest") {
		t.Errorf("without a manifest: %v", err)
	}
}

// What changes while somebody is asked is asked about again.
func TestChangeDuringTheQuestion(t *testing.T) {
	data, path := t.TempDir(), filepath.Join(t.TempDir(), "agent")
	write(t, path, "one")
	c := Command{Agent: "mine", Words: []string{"agent"}, Path: path}
	s := In(data, data)
	if err := s.Check(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	write(t, path, "second")
	asked := 0
	err := s.Check(t.Context(), c, func(context.Context, Change) (bool, error) {
		if asked++; asked == 1 {
			write(t, path, "the third")
		}
		return true, nil
	})
	if err != nil || asked != 2 {
		t.Errorf("%v, %d questions", err, asked)
	}
}

// Several starts at the same time ask once.
func TestStartsAtOnceAskOnce(t *testing.T) {
	data, path := t.TempDir(), filepath.Join(t.TempDir(), "agent")
	write(t, path, "one")
	c := Command{Agent: "mine", Words: []string{"agent"}, Path: path}
	s := In(data, data)
	if err := s.Check(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	write(t, path, "second")
	var all sync.WaitGroup
	asked := 0 // only one asks at a time
	for range 4 {
		all.Go(func() {
			if err := s.Check(t.Context(), c, func(context.Context, Change) (bool, error) {
				asked++
				return true, nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if asked != 1 {
		t.Errorf("%d questions", asked)
	}
}

// BenchmarkUnchanged measures the start of an installed agent of 5,000 files.
func BenchmarkUnchanged(b *testing.B) {
	files := map[string]string{"agent": "a"}
	for i := range 5000 {
		files[fmt.Sprintf("node_modules/package-%d/lib/file-%d.js", i/10, i)] = strings.Repeat("x", 2000)
	}
	data := b.TempDir()
	_, c := installed(b, data, files)
	s := In(data, data)
	for b.Loop() {
		if err := s.Check(b.Context(), c, nil); err != nil {
			b.Fatal(err)
		}
	}
}
