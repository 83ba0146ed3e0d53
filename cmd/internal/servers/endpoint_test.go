package servers

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dragoman/bridge/upstream"
	"dragoman/configs"
	"dragoman/configs/configstest"
	"dragoman/core"
)

// A program in an editor's options needs consent: the options may come from a folder that was
// just opened.
func TestEditorsServersAreAskedAbout(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "started")
	layer, _, err := configs.ParseEditor([]byte(`{"mcp_servers":{"x":{"command":"touch","args":[` + strconv.Quote(mark) + `],"start":"session"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	none := func(string) (string, bool) { return "", false }
	c, err := configs.Load(configs.Options{Env: none, Editor: layer})
	if err != nil {
		t.Fatal(err)
	}
	box := upstream.New(upstream.Options{Servers: Of(c, nil, none, nil, func(string) upstream.Confine { return nil }), Environ: os.Environ()})
	defer box.Close()
	dir := t.TempDir()
	items, err := box.Try(t.Context(), core.Meta{Cwd: dir, Roots: []string{dir}})
	if err != nil || len(items) != 1 || !strings.Contains(items[0].Why, "not been approved") {
		t.Errorf("%+v, %v", items, err)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("it was started, and nobody was asked")
	}
}

func TestEndpointIsResolved(t *testing.T) {
	c := configstest.Parsed(t, `mcp_servers:
  a: {command: ~/bin/x, args: ["--root", "${env:ROOT}"], env: {KEY: "${env:KEY}"}, dir: ~/src}
  b: {url: "https://x.example.com/${env:ROOT}", transport: sse, headers: {A: "Bearer ${env:KEY}"}}
`)
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": "/home/u", "USERPROFILE": "/home/u", "ROOT": "r", "KEY": "k"}[name]
		return v, ok
	}
	a, err := endpointOf(t.Context(), c.MCPServers["a"], env, nil)
	if err != nil || a.Command != "/home/u/bin/x" || !slices.Equal(a.Args, []string{"--root", "r"}) || a.Env["KEY"] != "k" || !strings.HasSuffix(a.Dir, "src") {
		t.Errorf("a: %+v, %v", a, err)
	}
	b, err := endpointOf(t.Context(), c.MCPServers["b"], env, nil)
	if err != nil || b.URL != "https://x.example.com/r" || b.Headers["A"] != "Bearer k" || !b.SSE {
		t.Errorf("b: %+v, %v", b, err)
	}
	if _, err := endpointOf(t.Context(), c.MCPServers["a"], func(string) (string, bool) { return "", false }, nil); err == nil {
		t.Error("a variable that is not set passes")
	}
}

// ${workspaceFolder} is the folder of the session, wherever it occurs, and ${userHome} the
// user's.
func TestFolderOfTheSessionIsKnown(t *testing.T) {
	dir := t.TempDir()
	text := `{"mcpServers": {
		"a": {"command": "${userHome}/bin/x", "args": ["--root=${workspaceFolder}/sub"], "env": {"ROOT": "${workspaceFolder}"}, "cwd": "${workspaceFolder}/sub"},
		"b": {"url": "https://x.example.com/", "headers": {"X-Root": "${workspaceFolder}"}},
		"c": {"command": "x"}
	}}`
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		return "/home/u", name == "HOME" || name == "USERPROFILE"
	}
	c, err := configs.Load(configs.Options{ConfigDir: dir, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	in := func(server, folder string) upstream.Endpoint {
		t.Helper()
		e, err := endpointOf(t.Context(), c.MCPServers[server], env, nil)
		if err != nil {
			t.Fatal(err)
		}
		return e.In(folder)
	}
	if e := in("a", "/src"); e.Command != "/home/u/bin/x" || e.Args[0] != "--root=/src/sub" || e.Env["ROOT"] != "/src" || e.Dir != "/src/sub" {
		t.Errorf("%+v", e)
	}
	if e := in("a", "/other"); e.Args[0] != "--root=/other/sub" {
		t.Errorf("of another session: %+v", e)
	}
	if e := in("b", "/src"); e.Headers["X-Root"] != "/src" {
		t.Errorf("%+v", e)
	}
	if e := in("c", "/src"); e.Dir != "/src" {
		t.Errorf("%+v", e)
	}
}
