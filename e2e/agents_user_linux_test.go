package e2e

import (
	"strings"
	"testing"
	"time"
)

// agentUser is a client whose sessions are with an external agent. Its face decides what it does.
type agentUser struct {
	*peer
	// start begins a session with the agent, and its first turn.
	start func(text string) (session string)
	// prompt begins a turn.
	prompt func(session, text string)
	// asked waits until an approval is asked for, and answer answers it.
	asked  func(session string)
	answer func(session string, allow bool)
	cancel func(session string)
	// talks waits until the agent has said something in the turn that was begun last.
	talks func(session string)
	// ended waits for the end of that turn and returns how it ended: endOK, endCancelled, or what the user is told.
	ended func(session string) string
	// said returns what the agent has said, load what a client is shown that opens the session.
	said func(session string) string
	load func(session string) string
}

// agentFaces are the ways to an external agent.
var agentFaces = []struct {
	name string
	open func(t *testing.T, p *place, agent string, flags []string) *agentUser
}{
	{"acp", func(t *testing.T, p *place, agent string, flags []string) *agentUser {
		d := acpDialect()
		begin := d.begin
		d.begin = func(e *editor) string {
			id := begin(e)
			if m := e.ask("session/set_config_option", object{"sessionId": id, "configId": "agent", "value": agent}); m.Error != nil {
				t.Fatalf("the agent %s cannot be chosen: %v\n%s", agent, m.Error, e.stderr())
			}
			return id
		}
		return agentEditor(t, p, d, flags)
	}},
	{"eca", func(t *testing.T, p *place, agent string, flags []string) *agentUser {
		d := ecaDialect()
		prompt := d.prompt
		d.prompt = func(e *editor, id, text string) object {
			req := prompt(e, id, text)
			req["params"].(object)["agent"] = agent
			return req
		}
		return agentEditor(t, p, d, flags)
	}},
	{"mcp", agentCaller},
}

func agentEditor(t *testing.T, p *place, d *dialect, flags []string) *agentUser {
	t.Helper()
	e := p.edit(t, d, launch{}, flags...)
	u := &agentUser{peer: e.peer}
	ends, length, questions := map[string]int{}, map[string]int{}, map[string]question{}
	u.prompt = func(id, text string) {
		ends[id], length[id] = len(e.view(id).ends), e.view(id).length
		e.prompt(id, text)
	}
	u.start = func(text string) string {
		id := e.begin()
		u.prompt(id, text)
		return id
	}
	u.asked = func(id string) { questions[id] = e.question(id) }
	u.answer = func(id string, allow bool) { e.send(e.dialect.decide(questions[id], allow)) }
	u.cancel = func(id string) { e.send(e.dialect.cancel(id)) }
	u.talks = func(id string) {
		e.read("the agent to talk", func() bool { return e.view(id).length > length[id] })
	}
	u.ended = func(id string) string { return e.ended(id, ends[id]+1) }
	u.said = func(id string) string { return string(e.view(id).text) }
	u.load = func(id string) string {
		v := e.load(id)
		return strings.Join(v.said, "\n") + "\n" + string(v.text)
	}
	return u
}

func agentCaller(t *testing.T, p *place, agent string, flags []string) *agentUser {
	t.Helper()
	c := p.call(t, launch{}, flags...)
	u := &agentUser{peer: c.peer}
	turns, texts, approvals := map[string]string{}, map[string]string{}, map[string]string{}
	begun := func(r result) string {
		id := r.Structured.Session
		if r.IsError || id == "" {
			t.Fatalf("agent_prompt: %s\n%s", r.text(), c.stderr())
		}
		turns[id] = r.Structured.Turn
		return id
	}
	// wait polls the newest turn until something holds of it.
	wait := func(id, what string, holds func(result) bool) result {
		for end := time.Now().Add(patience); ; {
			r := c.use("agent_wait", object{"session_id": id, "turn_id": turns[id], "wait_seconds": 1})
			if holds(r) {
				return r
			}
			if time.Now().After(end) {
				t.Fatalf("waiting for %s: %s\n%s", what, r.text(), c.stderr())
			}
		}
	}
	u.start = func(text string) string {
		args := promptArgs("", text)
		args["wait_seconds"], args["agent"] = 0, agent
		return begun(c.use("agent_prompt", args))
	}
	u.prompt = func(id, text string) { begun(c.begin(id, text)) }
	u.asked = func(id string) {
		r := wait(id, "an approval to be asked for", func(r result) bool { return len(r.Structured.Approvals) > 0 })
		approvals[id] = r.Structured.Approvals[0].ID
	}
	u.answer = func(id string, allow bool) {
		decision := "reject_once"
		if allow {
			decision = "allow_once"
		}
		if r := c.use("agent_approve", object{"session_id": id, "approval_id": approvals[id], "decision": decision}); r.IsError {
			t.Fatalf("agent_approve: %s", r.text())
		}
	}
	u.cancel = func(id string) {
		if r := c.use("agent_cancel", object{"session_id": id}); r.IsError {
			t.Fatalf("agent_cancel: %s", r.text())
		}
	}
	u.talks = func(id string) {
		wait(id, "the agent to talk", func(r result) bool { return r.Structured.Text != "" })
	}
	u.ended = func(id string) string {
		r := wait(id, "the end", func(r result) bool {
			return r.Structured.Status != "running" && r.Structured.Status != "awaiting_approval"
		})
		texts[id] += r.Structured.Text
		switch status := r.Structured.Status; status {
		case "completed":
			return endOK
		case "cancelled":
			return endCancelled
		default:
			return status + " " + r.text()
		}
	}
	u.said = func(id string) string { return texts[id] }
	u.load = func(id string) string { return c.use("session_get", object{"session_id": id}).text() }
	return u
}
