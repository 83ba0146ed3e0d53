package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// An editor that has a session of another process open sees it grow without a command. When the
// owner is killed in a turn, that turn ends for the editor, and soon another process can go on
// with the session.
func TestSessionsGrowInOtherProcesses(t *testing.T) {
	t.Parallel()
	for _, owns := range editors() {
		for _, views := range editors() {
			t.Run(owns.name+" grows in "+views.name, func(t *testing.T) {
				p := newPlace(t)
				owner, viewer := p.edit(t, owns, launch{}), p.edit(t, views, launch{})
				id := owner.begin()
				owner.run(id, "think of the first")
				v := viewer.load(id)
				for n := range 3 {
					text := fmt.Sprintf("thought %d", n)
					began := time.Now()
					owner.prompt(id, "think of "+text)
					viewer.read("what the owner adds", func() bool { return strings.Contains(v.thoughts, text) })
					t.Logf("shown after %v", time.Since(began).Round(time.Millisecond))
					owner.ended(id, n+2)
				}
				owner.prompt(id, endless)
				shown := v.length
				viewer.read("text that streams", func() bool { return v.length > shown })
				owner.kill()
				<-owner.exited
				if views.name == "eca" {
					ends := len(v.ends)
					viewer.read("the end of the turn", func() bool { return len(v.ends) > ends })
				}
				next := p.edit(t, owns, launch{})
				w := next.load(id)
				for refused := true; refused; { // while the viewer has it, to close the turn
					n := len(w.ends)
					next.prompt(id, "think of the next owner")
					next.read("an end", func() bool { return len(w.ends) > n })
					refused = !strings.Contains(w.thoughts, "the next owner")
				}
				viewer.read("what the next owner adds", func() bool { return strings.Contains(v.thoughts, "the next owner") })
				next.stop()
				viewer.stop()
			})
		}
	}
}

// An agent over MCP that waits for the turn of another process is told that it has ended, also when
// that process is killed.
func TestWaitForATurnWhoseProcessIsKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	owner, agent := p.edit(t, acpDialect(), launch{}), p.call(t, launch{})
	id := owner.begin()
	owner.prompt(id, endless)
	owner.read("text", func() bool { return owner.view(id).length > 0 })
	wait, req := agent.tool("agent_wait", object{"session_id": id})
	agent.send(req)
	owner.kill()
	if r := agent.result(wait); r.Structured.Status == "running" || r.Structured.Status == "completed" {
		t.Errorf("the turn is %q: %s", r.Structured.Status, r.text())
	}
	agent.stop()
}
