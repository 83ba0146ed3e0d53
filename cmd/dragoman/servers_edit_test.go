package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

func TestServersAreAddedAndRemoved(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "config.yaml")
	file := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("the file is, %v\n%s\nwant\n%s", err, b, want)
		}
	}
	if got := p.well(t, "", "mcp-servers", "add", "files", "--start", "session", "--env", "LEVEL=a=b", "--dir", "sub", "--", "./server", "-y", "--", "."); !strings.HasPrefix(got, "wrote the MCP server files to "+path) {
		t.Errorf("add says %s", got)
	}
	entry := "mcp_servers:\n  files:\n    command: " + strconv.Quote(filepath.Join(p.work, "server")) + "\n    args: [\"-y\", \"--\", \".\"]\n    env:\n      LEVEL: \"a=b\"\n    dir: " +
		strconv.Quote(filepath.Join(p.work, "sub")) + "\n    start: session\n"
	file(entry)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info, err)
	}
	p.well(t, "", "mcp-servers", "disable", "files")
	file(entry + "    disabled: true\n")
	p.well(t, "", "mcp-servers", "enable", "files")
	file(entry + "    disabled: false\n")
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
	file(entry + "    disabled: false\n  web:\n    command: no-such-program\n    args: [\"x\"]\n")
	if os.PathSeparator == '/' {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		o := p.run(t, "", "mcp-servers", "add", "open", "--env", "TOKEN=very-secret", "--", "sh")
		if o.code != program.ExitOK || !strings.Contains(o.errs, "in a file that other users can read; run chmod 600 "+path) {
			t.Errorf("%+v", o)
		}
		p.well(t, "", "mcp-servers", "remove", "open")
	}
	p.well(t, "", "mcp-servers", "remove", "web")
	p.well(t, "", "mcp-servers", "rm", "files")
	file("mcp_servers:\n")
}

func TestServersThatCannotBeChanged(t *testing.T) {
	p := newPlace(t)
	const text = "# mine\nmcp_servers:\n  files: {command: x, disabled: true}\n  web: {url: \"https://example.com/mcp\"}\n"
	path := p.config(t, text)
	for _, c := range []struct {
		args string
		code int
		errs string
	}{
		{"", 2, "choose a subcommand: list, add, remove"},
		{"add", 2, "say what to call the server"},
		{"add a", 1, "say how the server is started"},
		{"add a npx -y x", 2, `put the program and its arguments after "--"`},
		{"add a --url https://example.com -- x", 1, "a server is either a program or a URL"},
		{"add a --env A=b --url https://example.com", 1, "--env and --dir belong to a program"},
		{"add a --header A=b -- x", 1, "--header and --transport belong to a URL"},
		{"add a --env A -- x", 1, `--env takes NAME=VALUE, and "A" has no name`},
		{"add a --env A=b --env A=c -- x", 1, "--env A is given twice"},
		{"add a --env A=${B} -- x", 1, "mcp_servers.a.env.A: unknown reference: write ${env:NAME}"},
		{"add a --url example.com", 1, "must be an absolute http or https URL"},
		{"add a --start soon -- x", 1, "must be auto or session"},
		{"add a/b -- x", 1, "a name is 1 to 64 letters, digits, - and _"},
		{"add native -- x", 1, "the name is taken by dragoman's own tools"},
		{"add files -- x", 1, `mcp_servers.files: is there already; --replace changes it, "dragoman mcp-servers remove files" removes it`},
		{"remove", 2, "accepts 1 arg(s)"},
		{"remove file", 1, `mcp_servers.file: is not in this file; did you mean "files"?`},
		{"enable files wob", 1, `mcp_servers.wob: is not in this file; did you mean "web"?`},
		{"disable nothing-like-it", 1, "mcp_servers.nothing-like-it: is not in this file"},
		{"approve file", 1, `there is no MCP server "file"; did you mean "files"?`},
		{"approve nothing-like-it", 1, "there are files, web"},
		{"approve files", 1, "is disabled"},
	} {
		o := p.run(t, "", append([]string{"mcp-servers"}, strings.Fields(c.args)...)...)
		if o.code != c.code || o.out != "" || !strings.Contains(o.errs, c.errs) {
			t.Errorf("%s: %+v\nwant %d, %q", c.args, o, c.code, c.errs)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != text {
		t.Errorf("the file was changed: %v\n%s", err, b)
	}
	for args, want := range map[string]string{"remove|": "files\tx\nweb\thttps://example.com/mcp\n", "enable|": "files\tx\n", "disable|": "web\thttps://example.com/mcp\n", "approve|web|": ""} {
		got := p.well(t, "", append([]string{"__complete", "mcp-servers"}, strings.Split(args, "|")...)...)
		if got != want+":4\n" {
			t.Errorf("completion of %s: %q", args, got)
		}
	}
	p.config(t, "mcp_servers: {a: {command: x}}\nlog: {level: loud}\n")
	if o := p.run(t, "", "mcp-servers", "remove", "a"); o.code != program.ExitFailed || !strings.Contains(o.errs, "config.yaml:2:14: log.level: must be debug, info, warn or error") {
		t.Errorf("a wrong file: %+v", o)
	}
}

// A server of which tools are new, or have changed, is held back until somebody agrees.
func TestChangesAreApproved(t *testing.T) {
	p := newPlace(t)
	// It has a configuration of its own: with this one it would be a server of itself.
	other := []string{"--env", "DRAGOMAN_DATA=" + filepath.Join(p.home, "other"), "--env", "XDG_CONFIG_HOME=" + filepath.Join(p.home, "other"), "--", binary, "mcp"}
	p.well(t, "", slices.Concat([]string{"mcp-servers", "add", "self"}, other)...)
	if got := p.well(t, "", "mcp-servers", "approve", "self"); !strings.HasPrefix(got, "Nothing has changed: ") {
		t.Errorf("before it was used: %s", got)
	}
	p.well(t, "hello\n", "chat")
	pins := filepath.Join(p.data, "mcp-tools.json")
	if _, err := os.Stat(pins); err != nil {
		t.Fatalf("nothing was pinned: %v", err)
	}
	p.well(t, "", slices.Concat([]string{"mcp-servers", "add", "--replace", "self"}, other, []string{"--codex-tools"})...)
	if got := p.well(t, "", "mcp-servers", "list"); !strings.Contains(got, "2 of them changed or new and held back: dragoman mcp-servers approve self") {
		t.Errorf("list says %s", got)
	}
	o := p.run(t, "y\n", "mcp-servers", "approve", "self")
	if o.code != program.ExitFailed || !strings.Contains(o.errs, "--yes approves without asking") || !strings.Contains(o.out, "self: codex-reply\n  It is new.\n") {
		t.Errorf("without a person: %+v", o)
	}
	if o := p.run(t, "", "mcp-servers", "approve", "self", "codx", "--yes"); o.code != program.ExitFailed || !strings.Contains(o.errs, `has no tool "codx"; did you mean "codex"?`) {
		t.Errorf("%+v", o)
	}
	if got := p.well(t, "", "mcp-servers", "approve", "self", "codex", "--yes"); !strings.HasSuffix(got, "agreed to 1 tool of self\n") || strings.Contains(got, "codex-reply\n") {
		t.Errorf("%s", got)
	}
	if got := p.well(t, "", "mcp-servers", "approve", "self", "-y"); !strings.HasSuffix(got, "agreed to 1 tool of self\n") || !strings.Contains(got, "codex-reply\n") {
		t.Errorf("%s", got)
	}
	if got := p.well(t, "", "mcp-servers", "list"); strings.Contains(got, "held back") {
		t.Errorf("list says %s", got)
	}
	p.well(t, "", "mcp-servers", "remove", "self")
	if b, err := os.ReadFile(pins); err != nil || strings.Contains(string(b), "self") {
		t.Errorf("what its tools said is still kept: %v\n%s", err, b)
	}
}

// With a server goes the login to it, here and at the authorization server.
func TestLoginGoesWithItsServer(t *testing.T) {
	for _, there := range []bool{true, false} {
		g, p := newGuarded(t), newPlace(t)
		p.config(t, "mcp_servers:\n  tracker: {url: \""+g.URL+"/mcp\"}\n")
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
