//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// seat is a client of a session that several processes share: an editor, or an agent over MCP.
type seat struct {
	*peer
	name   string
	editor *editor // nil: it is a caller
	caller *caller
	id     string   // of the session
	own    []string // prompts that an editor does not show to who has sent them
	taken  int      // how many messages were looked at by asks
}

// sit starts a client in a process of its own, which reads whatever comes.
func (p *place) sit(t testing.TB, kind string, l launch, flags ...string) *seat {
	t.Helper()
	return p.sitWith(t, kind, l, object{"elicitation": object{}}, flags...)
}

// sitWith is sit for a caller with capabilities.
func (p *place) sitWith(t testing.TB, kind string, l launch, caps object, flags ...string) *seat {
	t.Helper()
	s := &seat{name: kind}
	switch kind {
	case "mcp":
		s.caller = p.callWith(t, l, caps, flags...)
		s.peer = s.caller.peer
	default:
		d := acpDialect()
		if kind == "eca" {
			d = ecaDialect()
		}
		s.editor = p.edit(t, d, l, flags...)
		s.editor.records = true
		s.peer = s.editor.peer
	}
	s.readAhead()
	s.keeps = true
	return s
}

// join shows the session.
func (s *seat) join(id string) {
	s.t.Helper()
	if s.id = id; s.editor != nil {
		s.editor.load(id)
	}
}

// prompt begins a turn and does not wait for it.
func (s *seat) prompt(text string) {
	s.t.Helper()
	if s.editor != nil {
		if s.name == "acp" {
			s.own = append(s.own, text)
		}
		s.editor.prompt(s.id, text)
		return
	}
	_, req := s.caller.tool("agent_prompt", object{"session_id": s.id, "prompt": text, "wait_seconds": 0})
	s.send(req)
}

// follow has a caller ask for the turn that runs: a question of a turn is put to it only then.
func (s *seat) follow() {
	s.t.Helper()
	if s.caller != nil {
		_, req := s.caller.tool("agent_wait", object{"session_id": s.id, "wait_seconds": 50})
		s.send(req)
	}
}

func (s *seat) read(what string, holds func() bool) {
	s.t.Helper()
	if s.editor != nil {
		s.editor.read(what, holds)
		return
	}
	s.until(what, s.caller.take, holds)
}

// sees reads until a message has come that has all parts, behind those that it has seen, and returns it.
func (s *seat) sees(parts ...string) (m message) {
	s.t.Helper()
	s.read(fmt.Sprintf("a message with %q", parts), func() bool {
		for ; s.taken < len(s.kept); s.taken++ {
			if m = s.kept[s.taken]; !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(string(m.raw), part) }) {
				s.taken++
				return true
			}
		}
		return false
	})
	return m
}

// asked reads until an approval is asked for.
func (s *seat) asked() message {
	s.t.Helper()
	return s.sees(map[string]string{
		"acp": `"session/request_permission"`, "eca": `"manualApproval":true`, "mcp": `"elicitation/create"`,
	}[s.name])
}

// allow answers an approval that was asked for.
func (s *seat) allow(q message) {
	s.t.Helper()
	switch s.name {
	case "acp":
		var p struct {
			Options []struct{ OptionID, Kind string }
		}
		if err := json.Unmarshal(q.Params, &p); err != nil {
			s.t.Fatalf("%s: %v", q.raw, err)
		}
		for _, o := range p.Options {
			if o.Kind == "allow_once" {
				s.send(object{"jsonrpc": "2.0", "id": q.ID, "result": object{"outcome": object{"outcome": "selected", "optionId": o.OptionID}}})
			}
		}
	case "eca":
		s.send(s.editor.dialect.decide(question{session: s.id, call: s.callOf(q)}, true))
	case "mcp":
		s.send(object{"jsonrpc": "2.0", "id": q.ID, "result": object{"action": "accept", "content": object{"decision": "allow_once"}}})
	}
}

// callOf returns the call that an editor was asked about.
func (s *seat) callOf(q message) string {
	s.t.Helper()
	var p struct {
		ToolCall struct{ ToolCallID string }
		Content  struct{ ID string }
	}
	if err := json.Unmarshal(q.Params, &p); err != nil {
		s.t.Fatalf("%s: %v", q.raw, err)
	}
	return p.ToolCall.ToolCallID + p.Content.ID
}

// withdrawn reads until an approval is asked for no more.
func (s *seat) withdrawn(q message) message {
	s.t.Helper()
	switch s.name {
	case "acp":
		return s.sees(`"$/cancel_request"`, `"requestId":`+string(q.ID))
	case "eca":
		return s.sees(`"toolCallRunning"`, fmt.Sprintf("%q", s.callOf(q)))
	}
	return s.sees(`"notifications/cancelled"`, `"requestId":`+string(q.ID))
}

// transcript returns what a caller is told of all turns in a log, and what the log has of them.
func (s *seat) transcript(log []logged) (got, want []element) {
	s.t.Helper()
	for i, r := range log {
		if r.Kind != "turn_started" {
			continue
		}
		var e struct{ Turn string }
		r.into(s.t, &e)
		one := hear(result{})
		one.session, one.turn, one.records = s.id, e.Turn, true
		s.caller.poll(one, "the turn's end", one.over)
		got = append(got, one.shown()...)
		end := slices.IndexFunc(log[i:], func(r logged) bool { return r.Kind == "turn_ended" })
		want = append(want, shownOf(s.t, log[i+1:i+end], true)...)
	}
	return got, want
}

// showsAll compares what a client shows with the log, when it has read all of it.
func (s *seat) showsAll(log []logged) {
	s.t.Helper()
	if s.caller != nil {
		got, want := s.transcript(log)
		sameAs(s.t, s.name, got, want)
		return
	}
	v, want := s.editor.view(s.id), shownOf(s.t, log, s.name == "acp", s.own...)
	s.read("all of the log", func() bool { return reached(v.shown(), want) })
	sameAs(s.t, s.name, v.shown(), want)
}

// gate is a pipe in the workspace that a command reads a line from, so that a test decides when it ends.
func (p *place) gate(t testing.TB) *os.File {
	t.Helper()
	path := filepath.Join(p.work, "gate")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

const atGate = "read x <gate; touch made"

// Two editors and an agent, each in a process of its own and with its own protocol, use one session at once.
func TestSharedSession(t *testing.T) {
	t.Parallel()
	p := sharedPlace(t)
	gate := p.gate(t)
	seats := []*seat{p.sit(t, "acp", launch{}), p.sit(t, "eca", launch{}), p.sit(t, "mcp", launch{})}
	acp := seats[0]
	id := acp.editor.begin()
	acp.join(id)
	acp.prompt("think first then read notes.txt then stream 5 of 30")
	acp.editor.ended(id, 1)
	for _, s := range seats[1:] {
		s.join(id)
	}
	mcp := seats[2].caller
	if r := mcp.prompt(id, "stream 3 of 10"); r.Structured.Status != "completed" {
		t.Fatalf("the agent's prompt: %s", r.text())
	}
	var times []time.Duration
	for round := range 6 {
		by, answers := seats[round%3], seats[(round+round/3)%3]
		by.prompt(fmt.Sprintf("think of %d then stream 20 of 30 then run %s-%d then stream 20 of 30", round, atGate, round))
		q := map[*seat]message{}
		for _, s := range seats[:2] {
			q[s] = s.asked()
		}
		seats[2].follow()
		q[seats[2]] = seats[2].asked()
		began := time.Now()
		answers.allow(q[answers])
		for _, s := range seats {
			if s != answers {
				times = append(times, s.withdrawn(q[s]).at.Sub(began)) // the command still runs
			}
		}
		if _, err := gate.WriteString("go\n"); err != nil {
			t.Fatal(err)
		}
		for _, s := range seats[:2] {
			s.sees(map[string]string{"acp": `"completed"`, "eca": `"toolCalled"`}[s.name], fmt.Sprintf("%q", s.callOf(q[s])))
		}
		seats[2].sees(`"status":"completed"`)
	}
	slices.Sort(times)
	t.Logf("%d withdrawals in other processes: p50 %v, max %v after the answer", len(times), times[len(times)/2], times[len(times)-1])
	log := p.logOf(t, id)
	for _, s := range seats {
		s.showsAll(log)
		s.leave()
	}
}
