package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/adapters/wire"
	"dragoman/bridge/agent/agenttest"
)

// A session stays with the agent that it was begun with, also when that was only the default.
func TestASessionStaysWithItsDefaultAgent(t *testing.T) {
	p := newPlace(t)
	o := agenttest.Options{Dir: t.TempDir(), Load: true, List: true}
	agents := "agents:\n" + entry("scripted", o, "") + entry("other", agenttest.Options{Dir: t.TempDir()}, "")
	p.config(t, "default_agent: scripted\n"+agents)
	if got := p.run(t, "", "run", "say one"); got.code != 0 || !strings.Contains(got.out, "one") {
		t.Fatalf("%+v", got)
	}
	p.config(t, "default_agent: other\n"+agents)
	if got := p.run(t, "", "run", "--session", "latest", "say two"); got.code != 0 || !strings.Contains(got.out, "two") {
		t.Fatalf("%+v", got)
	}
	if got := p.run(t, "", "sessions", "list", "--json"); strings.Count(got.out, "\n") != 1 || !strings.Contains(got.out, `"agent":"scripted"`) {
		t.Errorf("%+v", got)
	}
}

// The sessions that an agent had by itself are listed, and opened by their id here.
func TestAgentsSessions(t *testing.T) {
	p := newPlace(t)
	o := agenttest.Options{Dir: t.TempDir(), Load: true, List: true}
	login := agenttest.Options{List: true, Auth: []agenttest.AuthMethod{{ID: "key", Name: "API key"}}, Faults: map[string]string{"session/list": "error -32000 Authentication required"}}
	p.config(t, "agents:\n"+entry("scripted", o, "")+entry("other", agenttest.Options{}, "")+entry("login", login, ""))
	list := func(args ...string) outcome { return p.run(t, "", append([]string{"agents", "sessions"}, args...)...) }
	if got := list("scripted"); got.code != 0 || got.out != "Agent scripted has no sessions.\n" {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]string{
		"other": "agent other does not list its sessions", "login": "run dragoman agents login login", "scrpted": "did you mean \"scripted\"",
	} {
		if got := list(name); got.code == 0 || !strings.Contains(got.errs, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// Another client of the agent has talked to it.
	line := `{"cwd":"` + p.work + `","title":"By itself"}` + "\n" +
		`{"update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Hello"}}}` + "\n" +
		`{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Good morning"}}}` + "\n"
	p.write(t, filepath.Join(o.Dir, "alone.jsonl"), line)
	if got := list("scripted"); got.code != 0 || !strings.Contains(got.out, "scripted:alone") || !strings.Contains(got.out, "By itself") {
		t.Errorf("%+v", got)
	}
	if got := list("scripted", "--json"); !strings.HasPrefix(got.out, `{"id":"scripted:alone","session":"alone","title":"By itself","cwd":"`+p.work+`","updated":"2`) {
		t.Errorf("%+v", got)
	}
	if got := p.run(t, "", "sessions", "list"); !strings.Contains(got.out, "There are no sessions yet.") {
		t.Errorf("%+v", got)
	}
	if got := p.run(t, "", "run", "--session", "latest", "say on"); got.code == 0 || !strings.Contains(got.errs, "there is no session in") {
		t.Errorf("the latest session: %+v", got)
	}
	if got := p.run(t, "", "run", "--session", "scripted:al", "say on"); got.code != 0 || !strings.Contains(got.out, "on") {
		t.Errorf("%+v", got)
	}
	if got := p.run(t, "", "sessions", "show", "scripted:alone"); !strings.Contains(got.out, "Good morning") || !strings.Contains(got.out, "say on") {
		t.Errorf("%+v", got)
	}
	if got := p.run(t, "", "sessions", "list", "--json"); strings.Count(got.out, "\n") != 1 || !strings.Contains(got.out, `"id":"scripted:alone","title":"By itself"`) {
		t.Errorf("%+v", got)
	}
	if got := p.run(t, "", "run", "--agent", "scripted", "say mine"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	got := list("scripted", "--json")
	if strings.Count(got.out, "\n") != 2 || strings.Count(got.out, `"id":"scripted:`) != 1 {
		t.Errorf("a session of ours has another id: %s", got.out)
	}
	// One that an editor deletes stays in the agent's list, and cannot be opened.
	p.write(t, filepath.Join(o.Dir, "unwanted.jsonl"), line)
	list("scripted")
	c := p.started(t, "acp")
	conn := c.connect(t.Context(), wire.Newline, make(inbox, 100).handle)
	err := conn.Ask(t.Context(), "initialize", obj{"protocolVersion": 1}, nil)
	if err = errors.Join(err, conn.Ask(t.Context(), "session/delete", obj{"sessionId": "scripted:unwanted"}, nil), c.end()); err != nil {
		t.Error(err)
	}
	if got := list("scripted"); strings.Count(got.out, "(deleted here)") != 1 || !strings.Contains(got.out, "By itself (deleted here)") {
		t.Errorf("%+v", got)
	}
	if got := list("scripted", "--json"); strings.Count(got.out, `"deleted":true`) != 1 {
		t.Errorf("%+v", got)
	}
	// With paths the kept list loses the sessions of folders that are not mapped.
	p.write(t, filepath.Join(o.Dir, "old.jsonl"), line)
	if got := list("scripted"); !strings.Contains(got.out, "scripted:old") {
		t.Errorf("%+v", got)
	}
	p.config(t, "agents:\n"+entry("scripted", o, ", paths: {/elsewhere: /src}"))
	if got := p.run(t, "", "run", "--session", "scripted:old", "say on"); got.code == 0 || !strings.Contains(got.errs, "scripted:old") {
		t.Errorf("%+v", got)
	}
}
