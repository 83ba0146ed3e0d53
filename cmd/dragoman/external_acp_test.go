package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/bridge/agent/agenttest"
)

// An ACP editor uses an external agent through the program: it signs in, sees the agent's options,
// changes them, gets the agent's own answers to choose from and updates that only the agent knows,
// and opens the session again without it.
func TestAnExternalAgentInAnACPEditor(t *testing.T) {
	p := newPlace(t)
	o := agenttest.Sample()
	o.Dir, o.Load, o.Login = filepath.Join(p.home, "sessions"), true, filepath.Join(p.home, "signed-in")
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o.Refuse = []string{"mode=code"}
	o.Auth = []agenttest.AuthMethod{
		{ID: "page", Name: "Log in on a page", Meta: json.RawMessage(`{"terminal-auth":{"command":"rm","args":["-r"],"label":"x"}}`)},
		{ID: "tty", Name: "Log in here", Type: "terminal", Args: []string{"--login"}},
	}
	p.config(t, "default_agent: scripted\nagents:\n  scripted:\n    acp:\n      command: ["+quoteYAML(binary)+", scripted-agent]\n"+
		"      env: {"+agenttest.Variable+": "+quoteYAML(o.Value())+"}\n")
	ctx := t.Context()
	c := p.started(t, "acp")
	box := make(inbox, 1000)
	conn := c.connect(ctx, wire.Newline, box.handle)
	ask := func(method string, params any) string {
		t.Helper()
		var raw json.RawMessage
		if err := conn.Ask(ctx, method, params, &raw); err != nil {
			t.Fatalf("%s: %v\n%s", method, err, c.stderr.String())
		}
		return string(raw)
	}
	fails := func(method string, params any, code jrpc2.Code, want ...string) {
		t.Helper()
		err := conn.Ask(ctx, method, params, nil)
		var e *jrpc2.Error
		if !errors.As(err, &e) || e.Code != code {
			t.Fatalf("%s: got %v, want code %d", method, err, code)
		}
		for _, text := range want {
			if got := e.Message + string(e.Data); !strings.Contains(got, text) || strings.Contains(got, "terminal-auth") {
				t.Errorf("%s: got %s, want %s", method, got, text)
			}
		}
	}
	has := func(what, got string, want ...string) {
		t.Helper()
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("%s: %s is not in %s", what, text, got)
			}
		}
	}
	made := obj{"cwd": p.work, "mcpServers": []any{}}

	has("initialize", ask("initialize", obj{"protocolVersion": 1, "clientInfo": obj{"name": "zed", "version": "1"}, "clientCapabilities": obj{"auth": obj{"terminal": true}}}),
		`"authMethods":[{"type":"terminal","id":"scripted","name":"scripted: log in","description":"Starts scripted in a terminal and logs in there","args":["--login","scripted"]}]`)
	fails("session/new", made, -32000, "Authentication required: sign in to Scripted first", `"id":"scripted/page","name":"scripted: Log in on a page"`,
		`{"type":"terminal","id":"scripted/tty","name":"scripted: Log in here","args":["--login","scripted/tty"]}`)
	if got := ask("session/list", obj{}); got != `{"sessions":[]}` {
		t.Errorf("a session is left: %s", got)
	}
	ask("authenticate", obj{"methodId": "scripted/page"})
	opened := ask("session/new", made)
	has("session/new", opened, `"modes":{"currentModeId":"ask"`, `"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"ask"`,
		`"id":"fast","name":"Fast","category":"model_config","type":"select","currentValue":"off"`, `"options":[{"value":"large","name":"Large"},{"value":"huge","name":"Huge"}]`, `"id":"trust"`)
	var is struct{ SessionID string }
	if err := json.Unmarshal([]byte(opened), &is); err != nil {
		t.Fatal(err)
	}
	id := is.SessionID
	box.until(t, "session/update", `{"name":"review","description":"scripted: the agent's own command","input":{"hint":"what"}}`)

	has("a choice", ask("session/set_config_option", obj{"sessionId": id, "configId": "model", "value": "huge"}), `"currentValue":"huge"`)
	fails("session/set_mode", obj{"sessionId": id, "modeId": "code"}, -32603, "your plan has no mode code")
	has("a switch", ask("session/set_config_option", obj{"sessionId": id, "configId": "fast", "value": "on"}), `"id":"fast","name":"Fast","category":"model_config","type":"select","currentValue":"on"`)

	turn := make(chan string, 1)
	go func() {
		var raw json.RawMessage
		if err := conn.Ask(ctx, "session/prompt", obj{"sessionId": id, "prompt": []any{obj{"type": "text", "text": "" +
			"permission {\"kind\":\"execute\",\"title\":\"touch x\",\"rawInput\":{\"command\":\"touch x\"},\"options\":[{\"optionId\":\"p\",\"name\":\"Proceed always\",\"kind\":\"allow_always\"},{\"optionId\":\"q\",\"name\":\"Proceed\",\"kind\":\"allow_once\"},{\"optionId\":\"r\",\"name\":\"Ponder\",\"kind\":\"ponder\"},{\"optionId\":\"n\",\"name\":\"No\",\"kind\":\"reject_once\"}]}\n" +
			"update {\"sessionUpdate\":\"_scripted/weather\",\"n\":1.50}\noption model"}}}, &raw); err != nil {
			turn <- err.Error()
			return
		}
		turn <- string(raw)
	}()
	asked := box.until(t, "session/request_permission", "Proceed")
	has("the request", string(asked.Params), `"options":[{"optionId":"p","name":"Proceed always","kind":"allow_always"},{"optionId":"q","name":"Proceed","kind":"allow_once"},`+
		`{"optionId":"r","name":"Ponder","kind":"reject_once"},{"optionId":"n","name":"No","kind":"reject_once"}]`)
	asked.Reply(obj{"outcome": obj{"outcome": "selected", "optionId": "q"}}, nil)
	box.until(t, "session/update", `"update":{"sessionUpdate":"_scripted/weather","n":1.50}`)
	box.until(t, "session/update", "huge")
	has("the turn", <-turn, `"stopReason":"end_turn"`)
	if err := c.end(); err != nil {
		t.Error(err, c.stderr.String())
	}

	c = p.started(t, "acp")
	box = make(inbox, 1000)
	conn = c.connect(ctx, wire.Newline, box.handle)
	has("initialize", ask("initialize", obj{"protocolVersion": 1, "clientCapabilities": obj{}, "clientInfo": obj{"name": "x", "version": "1"}}), `"authMethods":[]`)
	has("session/load", ask("session/load", obj{"sessionId": id, "cwd": p.work, "mcpServers": []any{}}), `"currentModeId":"ask"`, `"currentModelId":"huge"`)
	box.until(t, "session/update", `"sessionUpdate":"_scripted/weather","n":1.50`)
	if err := c.end(); err != nil {
		t.Error(err, c.stderr.String())
	}
}

// quoteYAML writes a text as a string of YAML.
func quoteYAML(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
