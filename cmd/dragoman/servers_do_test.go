package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dragoman/adapters/wire"
)

// An editor's requests for MCP servers are carried out: real ones start and end, and lasting
// changes are in the user's file, with every comment in its place.
func TestEditorManagesServers(t *testing.T) {
	p := newPlace(t)
	const theirs = "mcp_servers: {old: {command: no-such-program}}\n"
	env := "{\"DRAGOMAN_DATA\": " + strconv.Quote(p.data) + ", \"XDG_CONFIG_HOME\": " + strconv.Quote(t.TempDir()) + "}" // not ours, in which it is itself
	path := filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "mcp.json")
	p.write(t, path, "// mine\n{\"mcpServers\": {\n  // ourselves\n  \"self\": {\"command\": "+strconv.Quote(binary)+", \"args\": [\"mcp\"], \"env\": "+env+"}, // as it is\n}}\n")
	yaml := p.config(t, theirs)
	reads := func(want ...string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range append(want, "// mine\n", "  // ourselves\n", " // as it is\n") {
			no, w := strings.HasPrefix(w, "!"), strings.TrimPrefix(w, "!")
			if strings.Contains(string(b), w) == no {
				t.Errorf("%q (is missing: %v) in\n%s", w, !no, b)
			}
		}
	}
	ctx := t.Context()
	c := p.started(t, "server")
	s := make(inbox, 1000)
	conn := c.connect(ctx, wire.ContentLength, s.handle)
	if err := conn.Ask(ctx, "initialize", obj{"capabilities": obj{"codeAssistant": obj{"chat": true}}, "workspaceFolders": []any{obj{"uri": "file://" + filepath.ToSlash(p.work), "name": "w"}}}, nil); err != nil {
		t.Fatal(err)
	}
	notify := func(method, name string) {
		t.Helper()
		if err := conn.Notify(method, obj{"name": name}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(method string, params, result any) string {
		t.Helper()
		var raw json.RawMessage
		if err := conn.Ask(ctx, method, params, &raw); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		if result != nil {
			if err := json.Unmarshal(raw, result); err != nil {
				t.Fatal(err)
			}
		}
		return string(raw)
	}
	status := func(name, want string) string {
		t.Helper()
		return string(s.until(t, "tool/serverUpdated", `"name":"`+name+`",`+want).Params)
	}
	is := func(command, args, status string) string {
		return `"command":` + strconv.Quote(command) + `,"args":` + args + `,"status":"` + status + `"`
	}
	if err := conn.Notify("initialized", obj{}); err != nil {
		t.Fatal(err)
	}
	status("self", is(binary, `["mcp"]`, "stopped"))

	notify("mcp/startServer", "self")
	if got := s.until(t, "tool/serverUpdated", `"agent_prompt"`); !strings.Contains(string(got.Params), `"running"`) {
		t.Errorf("with tools: %s", got.Params)
	}
	for !strings.Contains(status("self", is(binary, `["mcp"]`, "running")), `"prompts":[{`) {
	}
	if got := ask("chat/queryCommands", obj{"query": "self:"}, nil); !strings.Contains(got, `"type":"mcpPrompt"`) {
		t.Errorf("its prompts: %s", got)
	}
	if got := ask("chat/queryContext", obj{"query": "", "contexts": []any{}}, nil); !strings.Contains(got, `"type":"mcpResource"`) {
		t.Errorf("its resources: %s", got)
	}
	notify("mcp/stopServer", "self")
	status("self", is(binary, `["mcp"]`, "stopped"))
	if got := ask("chat/queryCommands", obj{"query": "self:"}, nil); strings.Contains(got, `"type":"mcpPrompt"`) {
		t.Errorf("the prompts of a server that is stopped: %s", got)
	}
	notify("mcp/startServer", "self")
	status("self", is(binary, `["mcp"]`, "running"))
	reads("!disabled")

	notify("mcp/disableServer", "self")
	status("self", is(binary, `["mcp"]`, "disabled"))
	reads("\"disabled\": true")
	notify("mcp/startServer", "self")
	status("self", is(binary, `["mcp"]`, "running")+`,"disabled":true`)
	notify("mcp/stopServer", "self")
	status("self", is(binary, `["mcp"]`, "disabled"))
	notify("mcp/enableServer", "self")
	status("self", is(binary, `["mcp"]`, "running"))
	reads("!\"disabled\": true")
	notify("mcp/startServer", "slef")
	s.until(t, "$/showMessage", `did you mean \"self\"?`)

	var added struct {
		Server struct{ Name, Status string }
		Error  *struct{ Code, Message string }
	}
	two := obj{"name": "two", "command": binary, "args": []string{"mcp"}, "env": obj{"DRAGOMAN_DATA": p.data, "XDG_CONFIG_HOME": t.TempDir()}}
	if got := ask("mcp/addServer", two, &added); added.Server.Name != "two" || added.Error != nil {
		t.Errorf("added: %s", got)
	}
	status("two", is(binary, `["mcp"]`, "running"))
	reads("\"two\":", "\"DRAGOMAN_DATA\": ")
	if got := ask("mcp/addServer", two, &added); added.Error == nil || !strings.Contains(added.Error.Message, "is there already") {
		t.Errorf("added again: %s", got)
	}
	if got := ask("mcp/addServer", obj{"name": "a b\n", "command": "x"}, &added); added.Error == nil || added.Error.Code != "invalid_request" {
		t.Errorf("a bad name: %s", got)
	}
	if got := ask("mcp/addServer", obj{"name": "web", "url": "ftp://x", "disabled": true}, &added); added.Error == nil || !strings.Contains(added.Error.Message, "http") {
		t.Errorf("a bad address: %s", got)
	}
	if got := ask("mcp/addServer", obj{"name": "p", "command": "x", "oauthPort": 8888, "disabled": true}, &added); added.Error == nil {
		t.Errorf("a login to a program: %s", got)
	}
	if got := ask("mcp/addServer", obj{"name": "p", "url": "https://x.example/mcp", "oauthPort": 88888, "disabled": true}, &added); added.Error == nil {
		t.Errorf("a bad port: %s", got)
	}
	added.Error = nil
	web := obj{"name": "web", "url": "https://x.example/mcp", "headers": obj{"X-Key": "${env:KEY}"}, "clientId": "me", "clientSecret": "${env:S}", "oauthPort": 8888, "disabled": true}
	if got := ask("mcp/addServer", web, &added); added.Error != nil || added.Server.Status != "disabled" {
		t.Errorf("an address: %s", got)
	}
	reads("\"client_id\": \"me\"", "\"client_secret\": ", "\"redirect_port\": 8888", "\"X-Key\": ", "\"disabled\": true")
	ask("mcp/removeServer", obj{"name": "web"}, nil)
	ask("mcp/updateServer", obj{"name": "two", "command": "no-such-program"}, nil)
	status("two", is("no-such-program", `["mcp"]`, "failed"))
	s.until(t, "$/showMessage", "there is no such program")
	ask("mcp/updateServer", obj{"name": "two", "url": "http://127.0.0.1:9/mcp"}, nil)
	status("two", `"url":"http://127.0.0.1:9/mcp","status":"`)
	reads("!no-such-program", "127.0.0.1")
	if got := ask("mcp/removeServer", obj{"name": "two"}, nil); got != `{"name":"two","removed":true}` {
		t.Errorf("removed: %s", got)
	}
	s.until(t, "tool/serverRemoved", `"two"`)
	reads("!\"two\":")
	if got := ask("mcp/removeServer", obj{"name": "two"}, nil); !strings.Contains(got, "no server of that name") {
		t.Errorf("removed again: %s", got)
	}
	// A server of the YAML is disabled from mcp.json, and not changed otherwise.
	const stands = "config.yaml:1:15: mcp_servers.old: is configured in this file, which no command changes"
	if got := ask("mcp/removeServer", obj{"name": "old"}, nil); !strings.Contains(got, stands) {
		t.Errorf("removed from the YAML: %s", got)
	}
	if got := ask("mcp/updateServer", obj{"name": "old", "command": "x"}, nil); !strings.Contains(got, stands) {
		t.Errorf("changed in the YAML: %s", got)
	}
	notify("mcp/disableServer", "old")
	status("old", is("no-such-program", "[]", "disabled"))
	reads("\"disabled\": [\"old\"]")
	notify("mcp/enableServer", "old")
	status("old", is("no-such-program", "[]", "failed"))
	reads("!\"old\"")
	if b, err := os.ReadFile(yaml); err != nil || string(b) != theirs {
		t.Errorf("the YAML was changed: %v\n%s", err, b)
	}
	if err := conn.Ask(ctx, "shutdown", nil, nil); err != nil {
		t.Error(err)
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}
