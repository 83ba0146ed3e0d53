package main

import (
	"path/filepath"
	"strings"
	"testing"

	"dragoman/adapters/wire"
	"dragoman/bridge/agent/agenttest"
	"dragoman/cmd/internal/program"
)

// Where an external agent answers, the greetings name it, and neither a model nor the offline demo.
func TestGreetingsNameTheExternalAgent(t *testing.T) {
	p := newPlace(t)
	agents := "agents:\n" + entry("scripted", agenttest.Options{}, "")
	p.config(t, "default_agent: scripted\n"+agents)
	if got := p.welcome(t); !strings.HasSuffix(got, ". The agent scripted answers.\n") {
		t.Errorf("ECA: %q", got)
	}
	chat := func(args ...string) string {
		c := p.atTerminal(t, args...)
		if code := c.leaves(); code != program.ExitOK {
			t.Errorf("exit code %d", code)
		}
		return string(c.seen)
	}
	if got := chat(); !strings.Contains(got, " · agent scripted · ") || strings.Contains(got, "offline") {
		t.Errorf("the chat: %s", got)
	}
	p.config(t, agents)
	if got := p.welcome(t); !strings.Contains(got, ". The model is offline/demo.\n\nThis is the offline demo") {
		t.Errorf("ECA with code: %q", got)
	}
	if got := chat(); !strings.Contains(got, " · offline/demo · ") || !strings.Contains(got, "The offline demo is not") {
		t.Errorf("the chat with code: %s", got)
	}
	if got := chat("--agent", "scripted"); !strings.Contains(got, " · agent scripted · ") {
		t.Errorf("the chat with --agent: %s", got)
	}
}

// welcome returns the text that an ECA editor shows in an empty chat.
func (p *place) welcome(t *testing.T) string {
	t.Helper()
	c := p.started(t, "server")
	conn := c.connect(t.Context(), wire.ContentLength, func(*wire.Call) {})
	var hello struct {
		Welcome string `json:"chatWelcomeMessage"`
	}
	err := conn.Ask(t.Context(), "initialize", obj{
		"capabilities":     obj{"codeAssistant": obj{"chat": true}},
		"workspaceFolders": []any{obj{"uri": "file://" + filepath.ToSlash(p.work), "name": "w"}},
	}, &hello)
	if err == nil {
		err = conn.Ask(t.Context(), "shutdown", nil, nil)
	}
	if err == nil {
		err = c.end()
	}
	if err != nil {
		t.Fatal(err)
	}
	return hello.Welcome
}
