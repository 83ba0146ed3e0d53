package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/adapters/wire"
	"dragoman/bridge/agent/agenttest"
)

// A session leaves its external agent and comes back, over each protocol: the agent hears what was said
// meanwhile.
func TestASessionComesBackToItsExternalAgent(t *testing.T) {
	for name, face := range map[string]func(*testing.T, *place) func(agent, text string) (said string){"acp": acpFace, "eca": ecaFace, "mcp": mcpFace} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			o := agenttest.Options{Dir: t.TempDir(), Load: true}
			p.config(t, "default_agent: scripted\nagents:\n"+entry("scripted", o, ""))
			say := face(t, p)
			if got := say("scripted", "say The boats are in."); !strings.Contains(got, "The boats are in.") {
				t.Errorf("the first answer is %s", got)
			}
			say("code", "The code word is XYZZY.")
			got := say("scripted", "heard")
			for _, want := range []string{"What was said since", "XYZZY"} {
				if !strings.Contains(got, want) {
					t.Errorf("the agent heard no %q: %s", want, got)
				}
			}
			if strings.Contains(got, "The boats are in.") {
				t.Errorf("the agent was told what it had said: %s", got)
			}
		})
	}
}

// acpFace returns a function that prompts an agent in one session over ACP.
func acpFace(t *testing.T, p *place) func(agent, text string) (said string) {
	t.Helper()
	c := p.started(t, "acp")
	conn, box, id := acpSession(t, c, p)
	t.Cleanup(func() { _ = c.end() })
	return func(agent, text string) (said string) {
		t.Helper()
		if err := conn.Ask(t.Context(), "session/set_config_option", obj{"sessionId": id, "configId": "agent", "value": agent}, nil); err != nil {
			t.Fatal(err)
		}
		if err := conn.Ask(t.Context(), "session/prompt", obj{"sessionId": id, "prompt": []any{obj{"type": "text", "text": text}}}, nil); err != nil {
			t.Fatal(err)
		}
		for len(box) > 0 { // updates come before the answer
			said += string((<-box).Params)
		}
		return said
	}
}

// ecaFace does it over ECA.
func ecaFace(t *testing.T, p *place) func(agent, text string) (said string) {
	t.Helper()
	c := p.started(t, "server")
	box := make(inbox, 1000)
	conn := c.connect(t.Context(), wire.ContentLength, box.handle)
	t.Cleanup(func() { _ = c.end() }) // without a shutdown the code is 1
	err := conn.Ask(t.Context(), "initialize", obj{
		"capabilities":     obj{"codeAssistant": obj{"chat": true}},
		"workspaceFolders": []any{obj{"uri": "file://" + filepath.ToSlash(p.work), "name": "w"}},
	}, nil)
	if err == nil {
		err = conn.Notify("initialized", obj{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(agent, text string) (said string) {
		t.Helper()
		if err := conn.Ask(t.Context(), "chat/prompt", obj{"chatId": "c", "agent": agent, "message": text}, nil); err != nil {
			t.Fatal(err)
		}
		for {
			call := <-box
			if call.Method != "chat/contentReceived" {
				continue
			}
			if said += string(call.Params); strings.Contains(string(call.Params), `"finished"`) {
				return said
			}
		}
	}
}

// mcpFace does it over MCP.
func mcpFace(t *testing.T, p *place) func(agent, text string) (said string) {
	t.Helper()
	c := p.started(t, "mcp")
	conn := c.connect(t.Context(), wire.Newline, func(*wire.Call) {})
	t.Cleanup(func() { _ = c.end() })
	err := conn.Ask(t.Context(), "initialize", obj{"protocolVersion": "2025-06-18", "capabilities": obj{}, "clientInfo": obj{"name": "x", "version": "1"}}, nil)
	if err == nil {
		err = conn.Notify("notifications/initialized", obj{})
	}
	if err != nil {
		t.Fatal(err)
	}
	session := ""
	return func(agent, text string) (said string) {
		t.Helper()
		args := obj{"agent": agent, "prompt": text, "cwd": p.work}
		if session != "" {
			args["session_id"] = session
			delete(args, "cwd")
		}
		var r struct {
			Structured json.RawMessage `json:"structuredContent"`
		}
		if err := conn.Ask(t.Context(), "tools/call", obj{"name": "agent_prompt", "arguments": args}, &r); err != nil {
			t.Fatal(err)
		}
		var is struct {
			Session string `json:"session_id"`
			Text    string `json:"text"`
		}
		if err := json.Unmarshal(r.Structured, &is); err != nil {
			t.Fatal(err)
		}
		session = is.Session
		return is.Text
	}
}

// A chat of an ECA editor stays with the agent that was the default one when it was begun, and lists have
// its model: the editor names the agent with each prompt.
func TestAChatStaysWithItsDefaultAgent(t *testing.T) {
	p := newPlace(t)
	o := agenttest.Options{Dir: t.TempDir(), Load: true, Config: agenttest.SampleConfig()}
	p.config(t, "default_agent: scripted\nagents:\n"+entry("scripted", o, ""))
	say := ecaFace(t, p)
	for range 2 {
		say("scripted", "say one")
	}
	if got := p.well(t, "", "sessions", "list", "--json"); !strings.Contains(got, `"model":"small","agent":"scripted"`) {
		t.Errorf("%s", got)
	}
}

// /agent changes the agent that editors show, so that they send it with their next prompt.
func TestSlashAgentReachesTheEditorsChoice(t *testing.T) {
	p := newPlace(t)
	o := agenttest.Options{Dir: t.TempDir(), Load: true}
	p.config(t, "agents:\n"+entry("scripted", o, ""))

	say := acpFace(t, p)
	got := say("code", "/agent scripted")
	for _, want := range []string{"From your next message on agent `scripted` answers", `"currentModeId":"scripted"`, `"id":"agent","name":"Agent","description":"Who answers","category":"mode","type":"select","currentValue":"scripted"`} {
		if !strings.Contains(got, want) {
			t.Errorf("over ACP there is no %s in %s", want, got)
		}
	}

	c := p.started(t, "server")
	box := make(inbox, 1000)
	conn := c.connect(t.Context(), wire.ContentLength, box.handle)
	t.Cleanup(func() { _ = c.end() }) // without a shutdown the code is 1
	if err := conn.Ask(t.Context(), "initialize", obj{"capabilities": obj{"codeAssistant": obj{"chat": true}}, "workspaceFolders": []any{}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.Notify("initialized", obj{}); err != nil {
		t.Fatal(err)
	}
	if err := conn.Ask(t.Context(), "chat/prompt", obj{"chatId": "c", "agent": "code", "message": "/agent scripted"}, nil); err != nil {
		t.Fatal(err)
	}
	for call := range box {
		if call.Method == "config/updated" && strings.Contains(string(call.Params), `"selectAgent":"scripted"`) {
			break
		}
	}
}
