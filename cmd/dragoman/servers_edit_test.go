package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

func TestServersAreAddedAndRemoved(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "mcp.json")
	file := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("the file is, %v\n%s\nwant\n%s", err, b, want)
		}
	}
	if got := p.well(t, "", "mcp-servers", "add", "files", "--start", "session", "--env", "LEVEL=a=b", "--dir", "sub", "--", "./server", "-y", "--", "."); !strings.HasPrefix(got, "wrote the MCP server files to "+path) {
		t.Errorf("add says %s", got)
	}
	entry := "{\n  \"mcpServers\": {\n    \"files\": {\n      \"command\": " + strconv.Quote(filepath.Join(p.work, "server")) + ",\n      \"args\": [\"-y\", \"--\", \".\"],\n      \"env\": {\n        \"LEVEL\": \"a=b\"\n      },\n      \"cwd\": " +
		strconv.Quote(filepath.Join(p.work, "sub")) + ",\n      \"start\": \"session\""
	const end = "\n    }\n  }\n}\n"
	file(entry + end)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info, err)
	}
	p.well(t, "", "mcp-servers", "disable", "files")
	file(entry + ",\n      \"disabled\": true" + end)
	p.well(t, "", "mcp-servers", "enable", "files")
	file(entry + end)
	o := p.run(t, "", "mcp-servers", "add", "web", "--url", "http://example.com/mcp", "--header", "Authorization=Bearer very-secret", "--transport", "sse")
	for _, want := range []string{"headers.Authorization of web is written out in the file", "without encryption"} {
		if o.code != program.ExitOK || !strings.Contains(o.errs, want) {
			t.Errorf("%q is missing: %+v", want, o)
		}
	}
	if strings.Contains(o.out+o.errs, "very-secret") {
		t.Errorf("a secret is shown: %+v", o)
	}
	if o := p.run(t, "", "mcp-servers", "add", "web", "--replace", "--", "no-such-program", "x"); o.code != program.ExitOK || !strings.Contains(o.errs, "no-such-program cannot be started now") {
		t.Errorf("%+v", o)
	}
	file(entry + "\n    },\n    \"web\": {\n      \"command\": \"no-such-program\",\n      \"args\": [\"x\"]" + end)
	if os.PathSeparator == '/' {
		p.well(t, "", "mcp-servers", "add", "open", "--env", "TOKEN=very-secret", "--", "sh")
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		o := p.run(t, "", "config", "show")
		if o.code != program.ExitOK || !strings.Contains(o.errs, "in a file that other users can read; run chmod 600 "+path) || strings.Contains(o.out, "very-secret") {
			t.Errorf("%+v", o)
		}
		p.well(t, "", "mcp-servers", "remove", "open")
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	p.well(t, "", "mcp-servers", "remove", "web")
	p.well(t, "", "mcp-servers", "rm", "files")
	file("{\n  \"mcpServers\": {\n  }\n}\n")
}

func TestServersThatCannotBeChanged(t *testing.T) {
	p := newPlace(t)
	const yaml = "# mine\nmcp_servers:\n  files: {command: x, disabled: true}\n  web: {url: \"https://example.com/mcp\"}\n"
	const text = "{\"mcpServers\": {\"mine\": {\"command\": \"z\"}, \"off\": {\"command\": \"z\", \"disabled\": true}}}"
	config := p.config(t, yaml)
	path := filepath.Join(filepath.Dir(config), "mcp.json")
	p.write(t, path, text)
	for _, c := range []struct {
		args string
		code int
		errs string
	}{
		{"", 2, "choose a subcommand: list, add, remove"},
		{"add", 2, "the server needs a name, and a command or an address"},
		{"add a", 2, "the server needs a command or an address"},
		{"add a npx -y x", 2, `put the program and its arguments after "--"`},
		{"add a --url https://example.com -- x", 2, "a server is either a program or a URL"},
		{"add a --env A=b --url https://example.com", 2, "--env, --env-file and --dir belong to a program"},
		{"add a --header A=b -- x", 2, "--header and --transport belong to a URL"},
		{"add a --env A -- x", 2, `--env takes NAME=VALUE, and "A" has no name`},
		{"add a --env A=b --env A=c -- x", 2, "--env A is given twice"},
		{"add a --env A=${B.C} -- x", 1, "mcpServers.a.env.A: unknown reference: write ${NAME}"},
		{"add a --url example.com", 1, "must be an absolute http or https URL"},
		{"add a --start soon -- x", 1, "must be auto or session"},
		{"add a/b -- x", 1, "a name is 1 to 64 letters, digits, - and _"},
		{"add native -- x", 1, "the name is taken by dragoman's own tools"},
		{"add mine -- x", 1, `mcpServers.mine: is there already; --replace changes it, "dragoman mcp-servers remove mine" removes it`},
		{"add files -- x", 1, "config.yaml:3:3: mcp_servers.files: is configured in this file, which no command changes; edit it by hand\n"},
		{"add files --replace -- x", 1, "config.yaml:3:3: mcp_servers.files: is configured in this file"},
		{"remove web", 1, "config.yaml:4:3: mcp_servers.web: is configured in this file"},
		{"enable files", 1, "config.yaml:3:33: mcp_servers.files.disabled: is set in this file, which no command changes"},
		{"remove", 2, "NAME is missing"},
		{"remove file", 1, `mcpServers.file: is not in this file; did you mean "files"?`},
		{"enable mine wob", 1, `mcpServers.wob: is not in this file; did you mean "web"?`},
		{"disable nothing-like-it", 1, "mcpServers.nothing-like-it: is not in this file"},
		{"approve file", 1, `there is no MCP server "file"; did you mean "files"?`},
		{"approve nothing-like-it", 1, "there are files, mine, off, web"},
		{"approve files", 1, "is disabled"},
	} {
		o := p.run(t, "", append([]string{"mcp-servers"}, strings.Fields(c.args)...)...)
		if o.code != c.code || o.out != "" || !strings.Contains(o.errs, c.errs) {
			t.Errorf("%s: %+v\nwant %d, %q", c.args, o, c.code, c.errs)
		}
	}
	for file, want := range map[string]string{path: text, config: yaml} {
		if b, err := os.ReadFile(file); err != nil || string(b) != want {
			t.Errorf("%s was changed: %v\n%s", file, err, b)
		}
	}
	for args, want := range map[string]string{"remove|": "files\tx\nmine\tz\noff\tz\nweb\thttps://example.com/mcp\n", "enable|": "files\tx\noff\tz\n", "disable|": "mine\tz\nweb\thttps://example.com/mcp\n", "approve|web|": ""} {
		got := p.well(t, "", append([]string{"__complete", "mcp-servers"}, strings.Split(args, "|")...)...)
		if got != want+":4\n" {
			t.Errorf("completion of %s: %q", args, got)
		}
	}
	p.config(t, "mcp_servers: {a: {command: x}}\nlog: [\n")
	if o := p.run(t, "", "mcp-servers", "remove", "mine"); o.code != program.ExitFailed || !strings.Contains(o.errs, "config.yaml:2:6: ") {
		t.Errorf("a wrong file: %+v", o)
	}
}

// A server of config.yaml is disabled by the list of mcp.json, and the YAML stays unchanged.
func TestServersOfTheYAMLAreDisabled(t *testing.T) {
	p := newPlace(t)
	const yaml = "mcp_servers:\n  web: {command: no-such-program} # mine\n"
	config := p.config(t, yaml)
	path := filepath.Join(filepath.Dir(config), "mcp.json")
	p.well(t, "", "mcp-servers", "add", "files", "--", "true")
	if got := p.well(t, "", "mcp-servers", "disable", "web", "files"); got != "disabled web, files in "+path+"\n" {
		t.Errorf("disable says %s", got)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), "\"disabled\": true") || !strings.Contains(string(b), "\n  \"disabled\": [\"web\"]\n}\n") {
		t.Errorf("%v\n%s", err, b)
	}
	if got := strings.Join(strings.Fields(p.well(t, "", "mcp-servers", "list")), " "); !strings.Contains(got, "files disabled true mcp.json") || !strings.Contains(got, "web disabled no-such-program config.yaml") {
		t.Errorf("list says %s", got)
	}
	shown := p.well(t, "", "config", "show")
	for _, want := range []string{"  # from " + path + ":3:5\n  files:\n", "  # from " + config + ":2:3\n  web:\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in\n%s", want, shown)
		}
	}
	p.well(t, "", "mcp-servers", "enable", "web", "files")
	if got := p.run(t, "", "mcp-servers", "list"); strings.Contains(got.out, "disabled") {
		t.Errorf("enabled: %+v", got)
	}
	if b, err := os.ReadFile(config); err != nil || string(b) != yaml {
		t.Errorf("the YAML was changed: %v\n%s", err, b)
	}
	if got := p.well(t, "", "config", "path", "--mcp"); got != path+"\n" {
		t.Errorf("config path --mcp: %s", got)
	}
	if got := p.well(t, "", "config", "schema", "--mcp"); !strings.Contains(got, "\"mcpServers\"") {
		t.Errorf("config schema --mcp: %s", got)
	}
}

// A mistake in one server of mcp.json affects only that server, and is reported with its place.
func TestMistakeAffectsOneServer(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "mcp.json")
	p.write(t, path, "{\"mcpServers\": {\n  \"bad\": {\"command\": \"x\", \"args\": \"y\"},\n  \"off\": {\"disabled\": true},\n  \"good\": {\"command\": \"no-such-program\"}\n}}\n")
	const place = ":2:35: mcpServers.bad.args: must be a list, got a string"
	o := p.run(t, "", "mcp-servers", "list")
	if got := strings.Join(strings.Fields(o.out), " "); !strings.Contains(got, "bad failed x mcp.json "+path+place) || !strings.Contains(got, "off disabled mcp.json") || !strings.Contains(got, "good failed no-such-program mcp.json") {
		t.Errorf("list says %+v", o)
	}
	if o := p.run(t, "", "config", "show"); o.code != program.ExitOK || !strings.Contains(o.errs, "warning: "+path+place) || !strings.Contains(o.out, "\n  good:\n") {
		t.Errorf("config show says %+v", o)
	}
	if o := p.run(t, "hello\n", "chat"); o.code != program.ExitOK || o.out == "" {
		t.Errorf("chat says %+v", o)
	}
	if got := p.run(t, "", "doctor"); !strings.Contains(got.out, path+place) || !strings.Contains(got.out, "3 MCP servers") {
		t.Errorf("doctor says %+v", got)
	}
	if o := p.run(t, "", "mcp-servers", "approve", "bad"); !strings.Contains(o.errs, "the MCP server bad cannot be used:\n"+path+place) {
		t.Errorf("approve says %+v", o)
	}
	p.well(t, "", "mcp-servers", "add", "bad", "--replace", "--", "sh", "y")
	if o := p.run(t, "", "config", "show"); strings.Contains(o.errs, "bad") {
		t.Errorf("mended, config show says %+v", o)
	}
	p.write(t, path, "{\"mcpServers\": {\n")
	if o := p.run(t, "hello\n", "chat"); o.code == program.ExitOK || !strings.Contains(o.errs, path+":2:1: the file ends too early") {
		t.Errorf("a file that cannot be parsed: %+v", o)
	}
}

// unpin removes the pins of a server's tools, which are then new again.
func unpin(t *testing.T, file, server string, tools ...string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var pinned map[string]map[string]string
	if err := json.Unmarshal(data, &pinned); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if pinned[server][tool] == "" {
			t.Fatalf("%s of %s is not pinned: %s", tool, server, data)
		}
		delete(pinned[server], tool)
	}
	if data, err = json.Marshal(pinned); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A server with new or changed tools is held back until the user agrees.
func TestChangesAreApproved(t *testing.T) {
	p := newPlace(t)
	// It has a configuration of its own: with this one it would be its own server.
	other := []string{"--env", "DRAGOMAN_DATA=" + filepath.Join(p.home, "other"), "--env", "XDG_CONFIG_HOME=" + filepath.Join(p.home, "other"), "--", binary, "mcp"}
	p.well(t, "", slices.Concat([]string{"mcp-servers", "add", "self"}, other)...)
	pins := filepath.Join(p.data, "mcp-tools.json")
	o := p.run(t, "", "mcp-servers", "approve", "self", "session_gt")
	if _, err := os.Stat(pins); err == nil || o.code != program.ExitFailed || !strings.Contains(o.errs, `has no tool "session_gt"; did you mean "session_get"?`) {
		t.Errorf("pins: %v, %+v", err, o)
	}
	// Of a server that was not used yet the named tools are kept, and the others held back.
	if got := p.well(t, "", "mcp-servers", "approve", "self", "session_get"); !regexp.MustCompile(`^self was not used yet: agreed to 1 tool as offered now, \d+ held back\n$`).MatchString(got) {
		t.Errorf("one tool before it was used: %s", got)
	}
	if got := p.well(t, "", "mcp-servers", "approve", "self", "session_get"); !strings.HasPrefix(got, "Nothing has changed: ") {
		t.Errorf("the same tool again: %s", got)
	}
	if o := p.run(t, "", "mcp-servers", "approve", "self", "session_list"); o.code != program.ExitFailed || !strings.Contains(o.out, "self: session_list\n  It is new.\n") {
		t.Errorf("one that is held back: %+v", o)
	}
	if err := os.Remove(pins); err != nil {
		t.Fatal(err)
	}
	if got := p.well(t, "", "mcp-servers", "approve", "self"); !regexp.MustCompile(`^self was not used yet: agreed to \d+ tools as offered now\n$`).MatchString(got) {
		t.Errorf("before it was used: %s", got)
	}
	if got := p.well(t, "", "mcp-servers", "approve", "self"); !strings.HasPrefix(got, "Nothing has changed: ") {
		t.Errorf("approved twice: %s", got)
	}
	unpin(t, pins, "self", "session_get", "session_list") // as if the server had not had these tools
	if got := p.well(t, "", "mcp-servers", "list"); !strings.Contains(got, "2 of them changed or new and held back: dragoman mcp-servers approve self") {
		t.Errorf("list says %s", got)
	}
	o = p.run(t, "y\n", "mcp-servers", "approve", "self")
	if o.code != program.ExitFailed || !strings.Contains(o.errs, "--yes approves without asking") || !strings.Contains(o.out, "self: session_list\n  It is new.\n") {
		t.Errorf("without a person: %+v", o)
	}
	if o := p.run(t, "", "mcp-servers", "approve", "self", "session_gt", "--yes"); o.code != program.ExitFailed || !strings.Contains(o.errs, `has no tool "session_gt"; did you mean "session_get"?`) {
		t.Errorf("%+v", o)
	}
	if got := p.well(t, "", "mcp-servers", "approve", "self", "session_get", "--yes"); !strings.HasSuffix(got, "agreed to 1 tool of self\n") || strings.Contains(got, "session_list\n") {
		t.Errorf("%s", got)
	}
	if got := p.well(t, "", "mcp-servers", "approve", "self", "-y"); !strings.HasSuffix(got, "agreed to 1 tool of self\n") || !strings.Contains(got, "session_list\n") {
		t.Errorf("%s", got)
	}
	if got := p.well(t, "", "mcp-servers", "list"); strings.Contains(got, "held back") {
		t.Errorf("list says %s", got)
	}
	good, err := os.ReadFile(pins)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, pins, "{")
	if o := p.run(t, "", "mcp-servers", "approve", "self", "--yes"); o.code != program.ExitFailed || o.out != "" || !strings.Contains(o.errs, "fix or remove "+pins) {
		t.Errorf("the pins cannot be read: %+v", o)
	}
	if b, err := os.ReadFile(pins); err != nil || string(b) != "{" {
		t.Errorf("pins that cannot be read were replaced: %s, %v", b, err)
	}
	p.write(t, pins, string(good))
	p.well(t, "", "mcp-servers", "remove", "self")
	if b, err := os.ReadFile(pins); err != nil || strings.Contains(string(b), "self") {
		t.Errorf("what its tools said is still kept: %v\n%s", err, b)
	}
}

// Removing a server also removes its login, here and at the authorization server.
func TestLoginGoesWithItsServer(t *testing.T) {
	for _, there := range []bool{true, false} {
		g, p := newGuarded(t), newPlace(t)
		p.servers(t, `{"mcpServers": {"tracker": {"url": "`+g.URL+`/mcp"}}}`)
		p.logInTo(t, "tracker")
		if !there {
			g.Close()
		}
		o := p.run(t, "", "mcp-servers", "remove", "tracker")
		if o.code != program.ExitOK || there != g.over() || there == strings.Contains(o.errs, "could not be revoked") {
			t.Errorf("%v: %+v", there, o)
		}
		if left, err := filepath.Glob(filepath.Join(p.data, "mcp-logins", "*.json")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

// The tools, the timeouts and the variables of files are written. Nothing in a file is a reference,
// and an error names the line without its value.
func TestServersAreAddedWithLimits(t *testing.T) {
	p := newPlace(t)
	env, other := filepath.Join(p.work, "mail.env"), filepath.Join(p.work, "more.env")
	p.write(t, env, "# mail\nMAIL_USER=me\nMAIL_HOST='${cmd:touch P}'\nPORT=1\n")
	p.write(t, other, "PORT=2\nLEVEL=low\n")
	p.well(t, "", "mcp-servers", "add", "mail", "--env-file", "mail.env", "--env-file", other, "--env", "LEVEL=high", "--tool", "read_*", "--tool", "list",
		"--without-tool", "read_all", "--start-timeout", "90s", "--call-timeout", "5m", "--", "sh")
	text, err := os.ReadFile(filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `    "mail": {
      "command": "sh",
      "env": {
        "LEVEL": "high",
        "MAIL_HOST": "$${cmd:touch P}",
        "MAIL_USER": "me",
        "PORT": "2"
      },
      "tools": ["read_*", "list"],
      "without_tools": ["read_all"],
      "start_timeout": "1m30s",
      "call_timeout": "5m"
    }
`
	if !strings.Contains(string(text), want) {
		t.Errorf("the file is\n%s\nwant\n%s", text, want)
	}
	p.write(t, other, "A=1\nB=very secret # why\n")
	for args, want := range map[string]string{
		"--env-file more.env -- x":           "read --env-file more.env: line 2: the value of B has a #",
		"--env-file none.env -- x":           "read --env-file none.env: ",
		"--env-file more.env --url http://x": "--env, --env-file and --dir belong to a program",
		"--start-timeout soon -- x":          `--start-timeout takes a duration of at least 1s, such as 90s or 5m, and got "soon"`,
		"--call-timeout 10ms -- x":           `--call-timeout takes a duration of at least 1s, such as 90s or 5m, and got "10ms"`,
		"--call-timeout -5m -- x":            "--call-timeout takes a duration of at least 1s",
		"--tool a[b -- x":                    "tools",
		"--without-tool= -- x":               "--without-tool takes the name of a tool",
	} {
		o := p.run(t, "", append([]string{"mcp-servers", "add", "bad"}, strings.Fields(args)...)...)
		if o.code == program.ExitOK || !strings.Contains(o.errs, want) || strings.Contains(o.errs, "very secret") {
			t.Errorf("%s: %+v", args, o)
		}
	}
}
