package imports

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/cmd/internal/program/programtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each program's settings, as it writes them, are translated; what is dropped or changed is said.
func TestSettingsOfPrograms(t *testing.T) {
	programtest.UnixOnly(t)
	env := map[string]string{"HOME": "/home/u", "HOME_DIR": "/home/u", "TOKEN": "x"}
	for file, path := range map[string]string{
		"codex.toml":           "/home/u/.codex/config.toml",
		"opencode.jsonc":       "/src/app/opencode.jsonc",
		"opencode2.json":       "/home/u/.config/opencode/opencode.json",
		"goose.yaml":           "/home/u/.config/goose/config.yaml",
		"gemini.json":          "/home/u/.gemini/settings.json",
		"windsurf.json":        "/home/u/.codeium/windsurf/mcp_config.json",
		"cursor.json":          "/home/u/.cursor/mcp.json",
		"claude.json":          "/home/u/.claude.json",
		"registry_npm.json":    "/src/app/server.json",
		"registry_nuget.json":  "/src/app/server.json",
		"registry_oci.json":    "/src/app/server.json",
		"registry_pypi.json":   "/src/app/server.json",
		"registry_remote.json": "/src/app/other.json",
	} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		got, golden := rendered(t, path, string(text), env), filepath.Join("testdata", file+".golden")
		if *update {
			programtest.Write(t, golden, got)
			continue
		}
		if want, err := os.ReadFile(golden); err != nil || got != string(want) {
			t.Errorf("%s:\n%s-- want\n%s", file, got, want)
		}
	}
}

// A timeout that no clock can hold is imported as the longest one, and that is said.
func TestHugeTimeouts(t *testing.T) {
	for path, text := range map[string]string{
		"/x/config.toml":   "[mcp_servers.a]\ncommand = 'c'\nstartup_timeout_ms = 1e300\ntool_timeout_sec = 1e300\n",
		"/x/opencode.json": `{"mcp":{"a":{"type":"local","command":["c"],"timeout":1e300}}}`,
		"/x/config.yaml":   "extensions: {a: {type: stdio, cmd: c, timeout: 1.0e+300}}\n",
	} {
		read, err := readServers(path, "", []byte(text), func(string) (string, bool) { return "", false })
		if err != nil || len(read.servers) != 1 || read.servers[0].err != nil {
			t.Fatalf("%s: %+v, %v", path, read, err)
		}
		s := read.servers[0]
		if longest := max(s.server.StartTimeout, s.server.CallTimeout); longest != maxTimeout || len(s.notes) == 0 {
			t.Errorf("%s: the longest timeout is %v, reported as %q", path, longest, s.notes)
		}
	}
}

// A text that would cost much to read is refused.
func TestExpensiveSettings(t *testing.T) {
	for name, c := range map[string]struct{ path, text, want string }{
		"brackets in TOML": {"/x/config.toml", "a = " + strings.Repeat("[", 1<<20), "nested too deeply"},
		"tables in TOML":   {"/x/config.toml", strings.Repeat("a={", 1<<18), "nested too deeply"},
		"dots in TOML":     {"/x/config.toml", "a" + strings.Repeat(".a", 1000) + " = 1", "nested too deeply"},
		"wrong TOML":       {"/x/config.toml", "[mcp_servers.a]\ncommand = x\n", "line 2"},
		"no servers":       {"/x/config.toml", "model = 'x'\n", "it has none of [mcp_servers.NAME]"},
		"aliases in YAML":  {"/x/config.yaml", "a: &a [x, x]\nb: &b [*a, *a]\nextensions: {c: {args: *b}}\n", "alias"},
		"depth of YAML":    {"/x/config.yaml", "extensions: " + strings.Repeat("[", 1000), ""},
		"wrong YAML":       {"/x/config.yaml", "extensions: {a: [}\n", "line 1"},
		"other YAML":       {"/x/config.yaml", "a: 1\n", "it has none of extensions"},
	} {
		_, err := readServers(c.path, "", []byte(c.text), func(string) (string, bool) { return "", false })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}
