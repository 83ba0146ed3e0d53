package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A configuration whose agent is this program with the same configuration does not start itself
// without end: the second of them refuses to start the agent, and says why.
func TestAgentInCircle(t *testing.T) {
	for _, name := range []string{"directly", "behind another configuration"} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			other := filepath.Join(p.home, "other.yaml")
			path := p.config(t, "")
			next := path
			if name != "directly" {
				next = other
			}
			p.config(t, fmt.Sprintf("default_agent: x\nagents: {x: {acp: {command: [%s, acp, --config, %s]}}}\n", binary, next))
			p.write(t, other, fmt.Sprintf("default_agent: x\nagents: {x: {acp: {command: [%s, acp, --config, %s]}}}\n", binary, path))
			if list := p.run(t, "", "agents", "list"); list.code != 0 {
				t.Errorf("the list: %+v", list)
			}
			r := p.run(t, "", "run", "say hello")
			if r.code == 0 || !strings.Contains(r.errs+r.out, "agent x would start itself without end") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// The program stands behind itself with another configuration.
func TestAgentsBehindAgents(t *testing.T) {
	p := newPlace(t)
	inner := filepath.Join(p.home, "inner.yaml")
	p.write(t, inner, fmt.Sprintf("default_agent: x\nagents: {x: {acp: {command: [%s, scripted-agent]}}}\n", binary))
	p.config(t, fmt.Sprintf("default_agent: x\nagents: {x: {acp: {command: [%s, acp, --config, %s]}}}\n", binary, inner))
	if out := p.well(t, "", "run", "say hello"); !strings.Contains(out, "hello") {
		t.Errorf("it said %q", out)
	}
}
