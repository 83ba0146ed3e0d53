package main

import (
	"strings"
	"testing"

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
