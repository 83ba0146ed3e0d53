package configs

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// usable describes a server's meaning for a program.
func usable(name string, s MCPServer, env Env) string {
	var b strings.Builder
	b.WriteString(name + ":")
	visit(reflect.ValueOf(filled(s)), "", field{}, func(key string, f field, v reflect.Value) {
		value := ""
		switch text, ok := v.Interface().(interface{ Resolve(Env) (string, error) }); {
		case ok && !v.IsZero():
			s, err := text.Resolve(env)
			if value = s; err != nil {
				value = "<" + err.(*Error).Problems[0].Message + ">" //nolint:errorlint // it is one
			}
		case ok, shapeOf(v.Type()) == shapeStruct, shapeOf(v.Type()) == shapeMap, shapeOf(v.Type()) == shapeList:
			return
		default:
			value = fmt.Sprint(v.Interface())
		}
		if value != "" && value != f.def && value != "false" && value != "0" && !strings.HasSuffix(key, "_timeout") || strings.HasSuffix(key, "_timeout") && formatNumber(v) != f.def {
			b.WriteString("\n  " + key + " " + value)
		}
	})
	lines := strings.Split(b.String(), "\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n") + "\n"
}

func TestServersOfMCPJSON(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of Unix")
	}
	env := environment("ENV", "set", "HOME", "/home/u", "workspaceFolder", "/src", "userHome", "/home/u")
	files, err := filepath.Glob("testdata/listed/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		have := map[string][]byte{}
		for _, f := range archive.Files {
			have[f.Name] = f.Data
		}
		for i, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".want")
			if !ok {
				continue
			}
			if pasted := strings.HasSuffix(file, "readmes.txtar"); pasted {
				reads(t, name, have[name+".json"])
			}
			got := laid(t, name, have[name+".json"], have[name+".yaml"], env)
			if archive.Files[i].Data = []byte(got); !*update && got != string(f.Data) {
				t.Errorf("%s: %s\n--- want\n%s--- got\n%s", file, name, f.Data, got)
			}
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// reads fails unless every server of a text can be used, with no warnings except for secrets in
// plain text.
func reads(t *testing.T, name string, text []byte) {
	t.Helper()
	l, problem := serverFile().parse("mcp.json", text)
	if problem != nil || len(l.entries) == 0 || len(l.warnings) > 0 {
		t.Fatalf("%s: %v, %v", name, problem, l)
	}
	for _, s := range l.entries {
		if len(s.problems) > 0 {
			t.Errorf("%s: %v", name, s.problems)
		}
	}
}

// laid loads an mcp.json, and a configuration next to it unless that is nil, and shows the
// result.
func laid(t *testing.T, name string, servers, config []byte, env Env) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mcp.json"), string(servers), 0o600)
	if config != nil {
		write(t, filepath.Join(dir, "config.yaml"), string(config), 0o600)
	}
	c, err := Load(Options{ConfigDir: dir, Env: env})
	var b strings.Builder
	for _, server := range slices.Sorted(maps.Keys(c.MCPServers)) {
		b.WriteString(usable(server, c.MCPServers[server], env))
	}
	for _, server := range slices.Sorted(maps.Keys(c.Unusable)) {
		fmt.Fprintf(&b, "unusable: %s, disabled: %v\n", server, c.Unusable[server].Entry.Disabled)
		if !strings.Contains(fmt.Sprint(c.Warnings), c.Unusable[server].Err.Problems[0].String()) {
			t.Errorf("%s: nobody is told of %s", name, server)
		}
	}
	for _, w := range c.Warnings {
		b.WriteString("warning: " + w.String() + "\n")
	}
	if err != nil {
		b.WriteString("error: " + err.Error() + "\n")
	}
	if shown := Marshal(c); bytes.Contains(shown, []byte("very-secret")) || bytes.Contains(shown, []byte("sk-literal")) || strings.Contains(b.String(), "secret\\x") {
		t.Errorf("%s: a secret is shown\n%s", name, shown)
	}
	return strings.ReplaceAll(b.String(), dir+string(filepath.Separator), "")
}

// The file is next to the user's own; with --config DIR/NAME.yaml it is DIR/NAME.mcp.json, so
// that no repository's mcp.json is read.
func TestServersFileIsBesideTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config")
	env := environment("XDG_CONFIG_HOME", config)
	own := filepath.Join(config, "dragoman", "mcp.json")
	for path, want := range map[string]string{
		"": own, filepath.Join(config, "dragoman", "config.yaml"): own, filepath.Join(dir, "config.yaml"): filepath.Join(dir, "config.mcp.json"),
		filepath.Join(dir, "a.yml"): filepath.Join(dir, "a.mcp.json"), filepath.Join(dir, "a.b"): filepath.Join(dir, "a.b.mcp.json"), "x.json": "x.mcp.json",
	} {
		if got := ServersFile(path, env); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := ServersFile("", nil); got != "" {
		t.Errorf("without a home: %s", got)
	}
	write(t, filepath.Join(dir, "mcp.json"), `{"mcpServers": {"theirs": {"command": "x"}}}`, 0o600)
	write(t, filepath.Join(dir, "config.yaml"), "", 0o600)
	c, err := Load(Options{Path: filepath.Join(dir, "config.yaml"), Env: env})
	if err != nil || len(c.MCPServers) > 0 || c.ServersFile != "" {
		t.Errorf("a repository's file is read: %+v, %v", c.MCPServers, err)
	}
	write(t, filepath.Join(dir, "config.mcp.json"), `{"mcpServers": {"mine": {"command": "x"}}}`, 0o600)
	// The second path does not exist.
	for _, path := range []string{filepath.Join(dir, "config.yaml"), filepath.Join(dir, "config.yml")} {
		c, err = Load(Options{Path: path, Env: env})
		if at := c.ServerAt("mine"); err != nil || at != (Position{c.ServersFile, 1, 17}) || at.File != filepath.Join(dir, "config.mcp.json") {
			t.Errorf("%s: %v, %v", path, at, err)
		}
	}
	if _, err := Load(Options{Path: filepath.Join(dir, "none.yaml"), Env: env}); err == nil {
		t.Error("a --config that is not there passes")
	}
}

// An unreadable file is reported as a whole, and nothing is started in the meantime.
func TestServersFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	for text, want := range map[string]string{
		strings.Repeat(" ", maxFile+1): "is larger than 1 MiB", "\xff\xfe{\x00": "is UTF-16 text", "{\n\"é\xff\"": path + ":2:3: is not UTF-8 text",
	} {
		write(t, path, text, 0o600)
		if c, err := Load(Options{ConfigDir: dir}); err == nil || !strings.Contains(err.Error(), want) || len(c.MCPServers) > 0 {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Options{ConfigDir: dir}); err == nil || !strings.Contains(err.Error(), "mcp.json: cannot be read: it is not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

// An entry that is valid by itself and invalid with the editor's settings affects only that
// server.
func TestEditorAndServersFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mcp.json"), `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}, "disabled": ["c"]}`, 0o600)
	editor, _, err := ParseEditor([]byte(`{"mcp_servers": {"a": {"url": "https://x.example.com"}, "b": {"command": "z", "args": ["z"]}, "c": {"command": "w"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(Options{ConfigDir: dir, Editor: editor})
	if err != nil || c.Unusable["a"].Err == nil || !c.FromEditor("mcp_servers.b") || len(c.MCPServers["b"].Args) != 1 || !c.MCPServers["c"].Disabled {
		t.Errorf("%v\n%+v\n%+v", err, c.Unusable, c.MCPServers)
	}
}

func TestServersSchema(t *testing.T) {
	const file = "mcp.schema.json"
	got := ServersSchemaJSON()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the structs say; run go test ./configs -update (%v)", file, err)
	}
}

func TestAgentsSchema(t *testing.T) {
	const file = "agents.schema.json"
	got := AgentsSchemaJSON()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the structs say; run go test ./configs -update (%v)", file, err)
	}
}
