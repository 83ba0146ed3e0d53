package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

// Importing settings of another program runs nothing and reads nothing, neither then nor when the
// servers are tried. References are imported only from ECA's own settings, and after a question.
func TestImportsRunNothing(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	mark := filepath.Join(p.work, "P")
	p.write(t, filepath.Join(p.home, "secret"), "TOPSECRET")
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("X-A")+r.Header.Get("X-B"))
		http.Error(w, "no", http.StatusNotFound)
	}))
	t.Cleanup(srv.Close)
	entry := `{"url": "` + srv.URL + `", "headers": {"X-A": "${file:~/secret}", "X-B": "${cmd:touch ` + mark + `}"}}`
	foreign, eca := filepath.Join(p.work, ".mcp.json"), filepath.Join(p.work, ".eca", "config.json")
	p.write(t, foreign, `{"mcpServers": {"a": `+entry+`}}`)
	p.write(t, eca, `{"mcpServers": {"b": `+entry+`}}`)
	if o := p.run(t, "", "mcp-servers", "import", foreign, "--dry-run"); !strings.Contains(o.errs, "${cmd:touch") || !strings.Contains(o.errs, "${file:~/secret} is text") {
		t.Errorf("--dry-run: %+v", o)
	}
	p.well(t, "", "mcp-servers", "import", foreign)
	p.run(t, "", "mcp-servers", "list")
	if p.has("P") || len(got) == 0 || strings.Contains(strings.Join(got, ""), "TOPSECRET") || !strings.Contains(got[0], "${file:~/secret}${cmd:touch") {
		t.Errorf("ran: %v; the server got %q", p.has("P"), got)
	}

	const asks = `b: headers.X-B runs "touch `
	if o := p.run(t, "", "mcp-servers", "import", eca, "--dry-run"); o.code != program.ExitOK || !strings.Contains(o.out, asks) || !strings.Contains(o.out, `b: headers.X-A reads the file "~/secret"`) {
		t.Errorf("--dry-run: %+v", o)
	}
	if o := p.run(t, "y\n", "mcp-servers", "import", eca); o.code != program.ExitFailed || !strings.Contains(o.out, asks) || !strings.Contains(o.errs, "--yes approves") || !strings.Contains(o.out, "Nothing was changed.") {
		t.Errorf("nobody to ask: %+v", o)
	}
	if p.has("P") {
		t.Error("it ran before anybody agreed")
	}
	p.well(t, "", "mcp-servers", "import", eca, "--yes")
	if p.has("P") {
		t.Error("the import ran it")
	}
	if p.run(t, "", "mcp-servers", "list"); !p.has("P") {
		t.Error("what was agreed to is not kept")
	}
}

func TestServersAreImported(t *testing.T) {
	p := newPlace(t)
	if got := p.well(t, "", "mcp-servers", "import"); !strings.Contains(got, "No settings with MCP servers were found") {
		t.Errorf("without any: %s", got)
	}
	cursor, code := filepath.Join(p.home, ".cursor", "mcp.json"), filepath.Join(p.work, ".vscode", "mcp.json")
	p.write(t, cursor, `{"mcpServers": {"a": {"command": "no-such-program", "env": {"TOKEN": "very-secret"}}, "b": {"url": "https://example.com/mcp"}, "c": {}}}`)
	p.write(t, code, `{"servers": {"b": {"type": "http", "url": "https://example.com/other"}}}`)
	got := p.well(t, "", "mcp-servers", "import")
	for _, want := range []string{"Cursor   " + cursor, "3 servers: a b c", "VS Code  " + code, "1 server: b", "Nothing was changed."} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	path := filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "mcp.json")
	o := p.run(t, "", "mcp-servers", "import", cursor, "--dry-run")
	if o.code != program.ExitFailed || !strings.Contains(o.out, "    \"a\": {\n      \"command\": \"no-such-program\",\n      \"env\": {\n        \"TOKEN\": \"***\"\n") || !strings.Contains(o.errs, "not imported: c: it has neither a command nor a url") ||
		!strings.Contains(o.errs, "env.TOKEN of a is written out") {
		t.Errorf("--dry-run: %+v", o)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("--dry-run has written")
	}
	o = p.run(t, "", "mcp-servers", "import", cursor)
	for _, want := range []string{"imported a, b into " + path, "warning: env.TOKEN of a is written out", "no-such-program cannot be started now"} {
		if o.code != program.ExitFailed || !strings.Contains(o.out+o.errs, want) {
			t.Errorf("%q is missing: %+v", want, o)
		}
	}
	const both = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"no-such-program\",\n      \"env\": {\n        \"TOKEN\": \"very-secret\"\n      }\n    },\n    \"b\": {\n      \"type\": \"http\",\n      \"url\": \"https://example.com/mcp\"\n    }\n  }\n}\n"
	if b, err := os.ReadFile(path); err != nil || string(b) != both {
		t.Errorf("%v\n%s", err, b)
	}
	if got := p.well(t, "", "mcp-servers", "import", code); got != "b is in the configuration already, with other settings; --replace changes it\nNothing was changed.\n" {
		t.Errorf("again: %s", got)
	}
	if got := p.well(t, "", "mcp-servers", "import", code, "--replace"); !strings.HasPrefix(got, "imported b into ") {
		t.Errorf("--replace: %s", got)
	}
	if got := p.well(t, "", "mcp-servers", "import", code); got != "b is in the configuration already\nNothing was changed.\n" {
		t.Errorf("the same: %s", got)
	}
	if o := p.run(t, "", "mcp-servers", "import", filepath.Join(p.home, "none.json")); o.code != program.ExitFailed || !strings.Contains(o.errs, "none.json: no such file") {
		t.Errorf("%+v", o)
	}
	p.config(t, "mcp_servers: {b: {command: mine}}\n")
	if got := p.well(t, "", "mcp-servers", "import", code); !strings.Contains(got, "b is configured in ") || !strings.Contains(got, "config.yaml:1:15 with other settings, and no command changes that file\nNothing was changed.\n") {
		t.Errorf("of the YAML: %s", got)
	}
	if o := p.run(t, "", "mcp-servers", "import", code, "--replace"); o.code != program.ExitFailed || !strings.Contains(o.errs, "not imported: b: it is configured in ") {
		t.Errorf("of the YAML, --replace: %+v", o)
	}
	other := filepath.Join(p.home, "other.yaml")
	p.well(t, "", "mcp-servers", "import", code, "--config", other)
	if b, err := os.ReadFile(filepath.Join(p.home, "other.mcp.json")); err != nil || !strings.Contains(string(b), "example.com/other") {
		t.Errorf("--config: %v\n%s", err, b)
	}
}

// The servers that "claude mcp add" has written for the current folder are found and imported, and
// so are Codex's. Those of other folders are named.
func TestServersOfTheFolderAreImported(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	claude, codex := filepath.Join(p.home, ".claude.json"), filepath.Join(p.home, ".codex", "config.toml")
	p.write(t, claude, `{"projects": {"`+p.work+`": {"mcpServers": {"foo": {"type": "stdio", "command": "echo", "args": ["hi"]}}}, "/elsewhere": {"mcpServers": {"far": {"command": "x"}}}}}`)
	p.write(t, codex, "[mcp_servers.figma]\nurl = \"https://mcp.figma.com/mcp\"\nenabled_tools = [\"get\"]\ntool_timeout_sec = 90\n")
	got := p.well(t, "", "mcp-servers", "import")
	for _, want := range []string{"Claude Code  " + claude, "1 server: foo", "Codex        " + codex, "1 server: figma", claude + ": not imported: 1 server of the folder /elsewhere (far)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if o := p.run(t, "", "mcp-servers", "import", claude); o.code != program.ExitOK || !strings.Contains(o.errs, "1 server of the folder /elsewhere (far)") {
		t.Errorf("%+v", o)
	}
	p.well(t, "", "mcp-servers", "import", codex)
	text, err := os.ReadFile(filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"foo": {`, `"args": ["hi"]`, `"figma": {`, `"tools": ["get"]`, `"call_timeout": "1m30s"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
}
