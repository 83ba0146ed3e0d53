package configs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"dragoman/core/datadir"
)

func read1(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const oneServer = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\"\n    }\n  }\n}\n"

func TestEditServersMakesTheFile(t *testing.T) {
	home := t.TempDir()
	path, err := EditServers(t.Context(), Options{Env: environment("XDG_CONFIG_HOME", filepath.Join(home, "config"))}, AddServer("a", npx()))
	if err != nil || path != filepath.Join(home, "config", "dragoman", "mcp.json") || read1(t, path) != oneServer {
		t.Fatalf("%s: %v", path, err)
	}
	if runtime.GOOS != "windows" {
		for _, at := range []string{path, filepath.Dir(path)} {
			if info, err := os.Stat(at); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v, %v", at, info.Mode(), err)
			}
		}
	}
	if _, err := EditServers(t.Context(), Options{}, AddServer("a", npx())); err == nil || !strings.Contains(err.Error(), "HOME is not set, so mcp.json has no default path") {
		t.Errorf("without a home: %v", err)
	}
	if err := os.Mkdir(filepath.Join(home, "x.mcp.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := EditServers(t.Context(), Options{Path: filepath.Join(home, "x.yaml")}, AddServer("a", npx())); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Only its owner can read the file, wherever a link leads to it.
func TestEditServersKeepsLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes as Unix has them")
	}
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfiles", "servers.json"), filepath.Join(dir, "config", "mcp.json")
	o := Options{ConfigDir: filepath.Join(dir, "config")}
	write(t, real, "// mine\n", 0o640)
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", "dotfiles", "servers.json"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := EditServers(t.Context(), o, AddServer("a", npx())); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || !strings.HasSuffix(to, "servers.json") {
		t.Errorf("the link: %s, %v", to, err)
	}
	info, err := os.Stat(real)
	if err != nil || info.Mode().Perm() != 0o600 || read1(t, real) != "// mine\n"+oneServer {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	if _, err := EditServers(t.Context(), o, AddServer("a", npx())); err != nil || read1(t, real) != oneServer {
		t.Errorf("a link to what is not there: %v", err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(link, link); err != nil {
		t.Fatal(err)
	}
	if _, err := EditServers(t.Context(), o, AddServer("a", npx())); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("a loop: %v", err)
	}
}

// An invalid file, or one that would become invalid, is not touched, to the byte and the time.
// Neither is the YAML, whatever is done.
func TestEditServersLeavesWrongFilesAlone(t *testing.T) {
	dir := t.TempDir()
	path, config := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "config.yaml")
	for _, c := range []struct {
		in, yaml string
		edit     Edit
		want     string
	}{
		{"{", "", AddServer("a", npx()), "mcp.json:1:2: the file ends too early"},
		{"[]", "", AddServer("a", npx()), "mcp.json:1:1: must be an object"},
		{"{}", "", AddServer("a", MCPServer{}), "needs command or url"},
		{"{}", "model: [\n", AddServer("a", npx()), "config.yaml:1:8: "},
		{"{}", "mcp_servers: {a: {command: x}}\n", DropServer("a"), "config.yaml:1:15: mcp_servers.a: is configured in this file"},
		{oneServer, "", DropServer("b"), "is not in this file"},
		{oneServer, "", DisableServer("a", false), ""}, // no error, and nothing to do
	} {
		write(t, path, c.in, 0o600)
		write(t, config, c.yaml, 0o600)
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = EditServers(t.Context(), Options{ConfigDir: dir}, c.edit)
		if after, statErr := os.Stat(path); statErr != nil || !os.SameFile(before, after) || read1(t, path) != c.in || read1(t, config) != c.yaml ||
			(err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s; %v", c.in, err, c.want, statErr)
		}
		if _, err := os.Stat(path + ".lock"); err == nil {
			t.Errorf("%q: the lock is left", c.in)
		}
	}
	// A mistake elsewhere in the YAML does not prevent it.
	write(t, config, "log: {level: loud}\n", 0o600)
	if _, err := EditServers(t.Context(), Options{ConfigDir: dir}, DropServer("a")); err != nil {
		t.Error(err)
	}
}

// Concurrent changes are not lost, even between processes.
func TestConcurrentEdits(t *testing.T) {
	const many = 20
	add := func(dir, of string) {
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				if _, err := EditServers(t.Context(), Options{ConfigDir: dir}, AddServer(fmt.Sprintf("%s%d", of, i), npx())); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	if dir := os.Getenv("EDIT_SERVERS_IN"); dir != "" {
		add(dir, "theirs")
		return
	}
	dir := t.TempDir()
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestConcurrentEdits$")
	other.Env = append(os.Environ(), "EDIT_SERVERS_IN="+dir)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	add(dir, "ours")
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
	if c, err := Load(Options{ConfigDir: dir}); err != nil || len(c.MCPServers) != 2*many {
		t.Errorf("%v\n%s", err, read1(t, filepath.Join(dir, "mcp.json")))
	}
}

// A program that does not lock may write too.
func TestConcurrentChangesByOtherPrograms(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	write(t, path, "{}\n", 0o600)
	races := 0
	e := AddServer("a", npx())
	add := e.apply
	e.apply = func(s *listEditor[MCPServer]) error {
		if races++; races == 1 {
			write(t, path, "// other\n", 0o600)
		}
		return add(s)
	}
	if _, err := EditServers(t.Context(), Options{ConfigDir: dir}, e); err != nil || read1(t, path) != "// other\n"+oneServer {
		t.Errorf("%v\n%s", err, read1(t, path))
	}
	write(t, path, "{}\n", 0o600)
	e.apply = func(s *listEditor[MCPServer]) error {
		races++
		write(t, path, fmt.Sprintf("// %d\n", races), 0o600)
		return add(s)
	}
	if _, err := EditServers(t.Context(), Options{ConfigDir: dir}, e); err == nil || !strings.Contains(err.Error(), "somebody else keeps changing") {
		t.Errorf("%v", err)
	}
}

// A held lock is waited for, for half a minute. The file of an abandoned lock delays nothing.
func TestHeldLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "mcp.json")
		held, err := datadir.TryLock(path + ".lock")
		if err != nil {
			t.Fatal(err)
		}
		_, err = EditServers(t.Context(), Options{ConfigDir: dir}, AddServer("a", npx()))
		if !errors.Is(err, datadir.ErrHeld) || !strings.Contains(err.Error(), "another process keeps changing it") {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := EditServers(ctx, Options{ConfigDir: dir}, AddServer("a", npx())); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the file was made all the same")
		}
		if err := held.Unlock(); err != nil { // its file stays
			t.Error(err)
		}
		if _, err := EditServers(t.Context(), Options{ConfigDir: dir}, AddServer("a", npx())); err != nil {
			t.Error(err)
		}
	})
}
