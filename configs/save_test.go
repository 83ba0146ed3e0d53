package configs

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
	"testing/synctest"
)

func read1(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const oneServer = "mcp_servers:\n  a:\n    command: npx\n"

func TestEditFileMakesIt(t *testing.T) {
	home := t.TempDir()
	path, err := EditFile(t.Context(), Options{Env: environment("XDG_CONFIG_HOME", filepath.Join(home, "config"))}, AddServer("a", npx()))
	if err != nil || path != filepath.Join(home, "config", "dragoman", "config.yaml") || read1(t, path) != oneServer {
		t.Fatalf("%s: %v", path, err)
	}
	if runtime.GOOS != "windows" {
		for _, at := range []string{path, filepath.Dir(path)} {
			if info, err := os.Stat(at); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v, %v", at, info.Mode(), err)
			}
		}
	}
	if _, err := EditFile(t.Context(), Options{}, AddServer("a", npx())); err == nil || !strings.Contains(err.Error(), "no place for a configuration file") {
		t.Errorf("without a home: %v", err)
	}
	if _, err := EditFile(t.Context(), Options{Path: home}, AddServer("a", npx())); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(home, "*.lock")); err != nil || len(left) > 0 {
		t.Errorf("locks are left: %v, %v", left, err)
	}
}

func TestEditFileKeepsModeAndLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes as Unix has them")
	}
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfiles", "dragoman.yaml"), filepath.Join(dir, "config", "config.yaml")
	write(t, real, "model: groq/x\n", 0o640)
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", "dotfiles", "dragoman.yaml"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := EditFile(t.Context(), Options{Path: link}, AddServer("a", npx())); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || !strings.HasSuffix(to, "dragoman.yaml") {
		t.Errorf("the link: %s, %v", to, err)
	}
	info, err := os.Stat(real)
	if err != nil || info.Mode().Perm() != 0o640 || read1(t, real) != "model: groq/x\n"+oneServer {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	if _, err := EditFile(t.Context(), Options{Path: link}, AddServer("a", npx())); err != nil || read1(t, real) != oneServer {
		t.Errorf("a link to what is not there: %v", err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if _, err := EditFile(t.Context(), Options{Path: loop}, AddServer("a", npx())); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("a loop: %v", err)
	}
}

// A wrong file, or one that would be wrong, stays as it is, to the byte and the time.
func TestEditFileLeavesWrongOnesAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	for _, c := range []struct {
		in   string
		edit Edit
	}{
		{"model: [\n", AddServer("a", npx())},
		{"log: {level: loud}\n", AddServer("a", npx())},
		{"model: groq/x\n", AddServer("a", MCPServer{})},
		{oneServer, DropServer("b")},
		{oneServer, DisableServer("a", false)}, // no error, and nothing to do
	} {
		write(t, path, c.in, 0o600)
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = EditFile(t.Context(), Options{Path: path}, c.edit)
		if after, statErr := os.Stat(path); statErr != nil || !os.SameFile(before, after) || read1(t, path) != c.in || (err == nil) != (c.in == oneServer && c.edit.name == "a") {
			t.Errorf("%q: %v, %v", c.in, err, statErr)
		}
		if _, err := os.Stat(path + ".lock"); err == nil {
			t.Errorf("%q: the lock is left", c.in)
		}
	}
}

func TestEditFileKnowsTheEditorsLayer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, "model: mine/x\n", 0o600)
	editor, _, err := ParseEditor([]byte(`{"providers": {"mine": {"base_url": "http://localhost:1/v1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := EditFile(t.Context(), Options{Path: path}, AddServer("a", npx())); err == nil {
		t.Error("a provider that nobody knows passes")
	}
	if _, err := EditFile(t.Context(), Options{Path: path, Editor: editor}, AddServer("a", npx())); err != nil {
		t.Error(err)
	}
}

// Nothing of what several write at once is lost.
func TestEditsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	const many = 20
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			if _, err := EditFile(t.Context(), Options{Path: path}, AddServer(fmt.Sprintf("s%d", i), npx())); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if c, err := Load(Options{Path: path}); err != nil || len(c.MCPServers) != many {
		t.Errorf("%v\n%s", err, read1(t, path))
	}
}

// A program that knows no lock may write too.
func TestFileChangesMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, "model: groq/x\n", 0o600)
	races := 0
	e := AddServer("a", npx())
	add := e.apply
	e.apply = func(s *source, now *Config) error {
		if races++; races == 1 {
			write(t, path, "model: groq/other\n", 0o600)
		}
		return add(s, now)
	}
	if _, err := EditFile(t.Context(), Options{Path: path}, e); err != nil || read1(t, path) != "model: groq/other\n"+oneServer {
		t.Errorf("%v\n%s", err, read1(t, path))
	}
	write(t, path, oneServer+"# more\n", 0o600)
	e.apply = func(s *source, now *Config) error {
		races++
		write(t, path, fmt.Sprintf("%s# %d\n", oneServer, races), 0o600)
		return s.set([]string{serversKey, "a", "disabled"}, scalar{text: "true"})
	}
	e.want = func(now *Config) *MCPServer { s := *now.server("a"); s.Disabled = true; return &s }
	if _, err := EditFile(t.Context(), Options{Path: path}, e); err == nil || !strings.Contains(err.Error(), "somebody else keeps changing") {
		t.Errorf("%v", err)
	}
}

// A lock that somebody has left is told, not taken.
func TestLeftLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "config.yaml")
		write(t, path+".lock", "", 0o600)
		_, err := EditFile(t.Context(), Options{Path: path}, AddServer("a", npx()))
		if err == nil || !strings.Contains(err.Error(), "if none is, remove "+path+".lock") {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := EditFile(ctx, Options{Path: path}, AddServer("a", npx())); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the file was made all the same")
		}
	})
}
