package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/adapters/wire"
)

// An ACP editor uses an ECA server through the program, here another one of ours: it sees the server's agents and
// models, is asked before the server's tools run, gets the plan, and opens the session again.
func TestAnECAServerInAnACPEditor(t *testing.T) {
	p := newPlace(t)
	data := filepath.Join(p.home, "below")
	p.config(t, "default_agent: old\nagents:\n  old:\n    eca:\n      command: ["+quoteYAML(binary)+", eca, --data-dir, "+quoteYAML(data)+", --config, "+quoteYAML(filepath.Join(p.home, "below.yaml"))+"]\n")
	p.write(t, filepath.Join(p.home, "below.yaml"), "limits: {max_turn_requests: 9}\n")
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
	has := func(what, got string, want ...string) {
		t.Helper()
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("%s: %s is not in %s", what, text, got)
			}
		}
	}
	said := func(session, text string) <-chan string {
		turn := make(chan string, 1)
		go func() {
			var raw json.RawMessage
			if err := conn.Ask(ctx, "session/prompt", obj{"sessionId": session, "prompt": []any{obj{"type": "text", "text": text}}}, &raw); err != nil {
				raw = json.RawMessage(err.Error())
			}
			turn <- string(raw)
		}()
		return turn
	}
	ask("initialize", obj{"protocolVersion": 1, "clientCapabilities": obj{}})
	opened := ask("session/new", obj{"cwd": p.work, "mcpServers": []any{}})
	has("session/new", opened, `"currentModeId":"code"`, `"id":"plan"`, `"id":"model","name":"Model","category":"model","type":"select","currentValue":"offline/demo"`)
	var is struct{ SessionID string }
	if err := json.Unmarshal([]byte(opened), &is); err != nil {
		t.Fatal(err)
	}
	turn := said(is.SessionID, "plan look; act then write f.txt: hello")
	box.until(t, "session/update", `"sessionUpdate":"plan","entries":[{"content":"look"`)
	asked := box.until(t, "session/request_permission", "f.txt")
	has("the request", string(asked.Params), `"kind":"edit"`, `"type":"diff"`, `"newText":"hello`)
	if _, err := os.Stat(filepath.Join(p.work, "f.txt")); err == nil {
		t.Error("the file was written before anybody was asked")
	}
	asked.Reply(obj{"outcome": obj{"outcome": "selected", "optionId": "allow_once"}}, nil)
	has("the turn", <-turn, `"stopReason":"end_turn"`)
	if got, err := os.ReadFile(filepath.Join(p.work, "f.txt")); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	turn = said(is.SessionID, "run touch g.txt")
	asked = box.until(t, "session/request_permission", "touch g.txt")
	asked.Reply(obj{"outcome": obj{"outcome": "selected", "optionId": "reject_once"}}, nil)
	has("the turn", <-turn, `"stopReason":"end_turn"`)
	if _, err := os.Stat(filepath.Join(p.work, "g.txt")); err == nil {
		t.Error("a rejected command ran")
	}
	if err := c.end(); err != nil {
		t.Error(err, c.stderr.String())
	}

	c = p.started(t, "acp")
	box = make(inbox, 1000)
	conn = c.connect(ctx, wire.Newline, box.handle)
	ask("initialize", obj{"protocolVersion": 1, "clientCapabilities": obj{}, "clientInfo": obj{"name": "x", "version": "1"}})
	has("session/load", ask("session/load", obj{"sessionId": is.SessionID, "cwd": p.work, "mcpServers": []any{}}), `"currentModeId":"code"`)
	box.until(t, "session/update", "f.txt")
	has("the turn", <-said(is.SessionID, "read f.txt"), `"stopReason":"end_turn"`)
	if err := c.end(); err != nil {
		t.Error(err, c.stderr.String())
	}
	if chats, err := filepath.Glob(filepath.Join(data, "sessions", "*", "*")); err != nil || len(chats) == 0 {
		entries, _ := os.ReadDir(data)
		t.Errorf("the server keeps no chat: %v, %v", entries, err)
	}
	if list := p.well(t, "", "agents", "list"); !strings.Contains(list, "old (default)") {
		t.Error(list)
	}
	has("doctor", p.well(t, "", "agents", "doctor", "old"), "dragoman", "a session was opened", "option agent: code, plan", "option model: offline/demo")
	has("sessions", p.well(t, "", "agents", "sessions", "old"), "plan look; act then write f.txt: hello", "dragoman-")
}
