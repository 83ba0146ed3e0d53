package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// everyAgent reports whether the agents that take long to install and to start are wanted as well (make test-agents).
func everyAgent() bool { return os.Getenv("DRAGOMAN_AGENTS") == "all" }

// forAgents runs a test with each agent that is wanted, or with those that are small, and with others by their names.
func forAgents(t *testing.T, many bool, test func(t *testing.T, a acpAgent), also ...string) {
	t.Parallel()
	for _, a := range acpAgents {
		if everyAgent() || a.quick && (a.small || !many) || slices.Contains(also, a.name) {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				test(t, a)
			})
		}
	}
}

// there reports whether a file of the workspace is there.
func (p *place) there(name string) bool {
	_, err := os.Stat(filepath.Join(p.work, name))
	return err == nil
}

// turn is a whole turn without a question. A session is begun if id is "".
func (u *agentUser) turn(id, prompt, answer string) string {
	u.t.Helper()
	before := 0
	if id == "" {
		id = u.start(prompt)
	} else {
		before = strings.Count(u.said(id), answer)
		u.prompt(id, prompt)
	}
	if end := u.ended(id); end != endOK {
		u.t.Fatalf("%s: the turn ended: %s\n%s", prompt, end, u.stderr())
	}
	if n := strings.Count(u.said(id), answer); n != before+1 {
		u.t.Errorf("%s: the answer is there %d times, want %d: %q", prompt, n, before+1, u.said(id))
	}
	return id
}

// Every agent is reached through every face: it talks, asks before it does something, obeys, is cancelled, and
// continues its session after a restart of the program and after its own death.
func TestAgents(t *testing.T) {
	forAgents(t, true, func(t *testing.T, a acpAgent) {
		for _, face := range agentFaces {
			if a.eca && face.name != "acp" && !everyAgent() {
				continue
			}
			t.Run(face.name, func(t *testing.T) {
				t.Parallel()
				p, flags := a.place(t)
				u := face.open(t, p, a.name, flags)

				id := u.turn("", tellPrompt, tellAnswer)
				u.prompt(id, writePrompt)
				u.asked(id)
				if p.there("made.txt") {
					t.Error("the file was made before anybody allowed it")
				}
				u.answer(id, true)
				if end := u.ended(id); end != endOK {
					t.Fatalf("after a yes: %s\n%s", end, u.stderr())
				}
				if text, err := os.ReadFile(filepath.Join(p.work, "made.txt")); string(text) != "made\n" {
					t.Errorf("the file that was allowed has %q, %v", text, err)
				}
				wantText(t, "the turn with a file", u.said(id), toolAnswer)

				u.prompt(id, runPrompt)
				u.asked(id)
				u.answer(id, false)
				if end := u.ended(id); end != endOK { // also where the agent says that its turn was cancelled
					t.Errorf("after a no: %s\n%s", end, u.stderr())
				}
				u.prompt(id, runPrompt)
				u.asked(id)
				u.cancel(id)
				if end := u.ended(id); end != endCancelled {
					t.Errorf("cancelled with a question open: %s\n%s", end, u.stderr())
				}
				if p.there("ran") {
					t.Error("a command that nobody allowed has run")
				}
				u.turn(id, tellPrompt, tellAnswer)
				u.in.Close()
				u.drain()
				u.left(patience)

				u = face.open(t, p, a.name, flags)
				wantText(t, "the session in the next process", u.load(id), tellPrompt, tellAnswer, toolAnswer)
				u.turn(id, againPrompt, againAnswer)

				u.prompt(id, talkPrompt)
				u.talks(id)
				p.killAgent(t)
				wantText(t, "the end of a turn whose agent was killed", u.ended(id), lastWords+"137")
				u.prompt(id, lastPrompt)
				u.asked(id)
				u.answer(id, true)
				if end := u.ended(id); end != endOK || !p.there("ran") {
					t.Errorf("the prompt after that: %s; the command has run: %v\n%s", end, p.there("ran"), u.stderr())
				}
				u.in.Close()
				u.drain()
				u.left(patience)
				p.noAgents(t)
			})
		}
	}, "eca")
}

// noAgents waits until nothing is left of the agents, for 5 seconds.
func (p *place) noAgents(t *testing.T) {
	t.Helper()
	if !within(5*time.Second, func() bool { return len(p.agentProcesses(t)) == 0 }) {
		left := p.agentProcesses(t)
		t.Errorf("%d processes are left after 5 seconds:%v", len(left), left)
	}
}

func (p *place) soon(t *testing.T, what string, so func() bool) {
	t.Helper()
	if !within(patience, so) {
		t.Fatalf("not yet: %s; these run:%v", what, p.agentProcesses(t))
	}
}

// within waits until something holds, for so long, and reports whether it does.
func within(d time.Duration, so func() bool) bool {
	deadline, look := time.NewTimer(d), time.NewTicker(100*time.Millisecond) // to look at all processes takes a few
	defer deadline.Stop()
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-deadline.C:
			return so()
		}
	}
	return true
}

// Nothing of an agent outlives its session, whatever ends that, while it waits for an answer or runs a command.
func TestAgentsEnd(t *testing.T) {
	ends := []struct {
		name         string
		always, stay bool
		say          func(c *acpClient, id string)
	}{
		{"SIGKILL", true, false, func(c *acpClient, _ string) { c.kill() }},
		{"SIGTERM", false, false, func(c *acpClient, _ string) { c.signal(syscall.SIGTERM) }},
		{"end of input", false, false, func(c *acpClient, _ string) { c.in.Close() }},
		{"session close", true, true, func(c *acpClient, id string) { c.ok("session/close", object{"sessionId": id}) }},
	}
	forAgents(t, true, func(t *testing.T, a acpAgent) {
		for _, end := range ends {
			for _, state := range []string{"its command runs", "it asks"} {
				if (state == "it asks" || !end.always) && !everyAgent() {
					continue
				}
				t.Run(end.name+"/"+state, func(t *testing.T) {
					t.Parallel()
					p, flags := a.place(t)
					c := p.acpClient(t, object{}, true, flags...)
					id := c.sessionWith(a.name)
					if state == "it asks" {
						c.permission = "hold"
					}
					c.begin("session/prompt", promptOf(id, sleepPrompt))
					if state == "it asks" {
						c.read("an approval to be asked for", func() bool { return len(c.held) > 0 })
					} else {
						c.read("an approval to be asked for", func() bool { return slices.Contains(c.asked, "session/request_permission") })
						p.soon(t, "its command runs", func() bool { return p.agentSleeps(t) })
					}
					if n := p.agentShells(t); n != 1 {
						t.Errorf("%d agents run, want 1:%v", n, p.agentProcesses(t))
					}
					end.say(c, id)
					if !end.stay {
						c.drain()
						c.left(patience)
					}
					p.noAgents(t)
					if end.stay {
						c.leave()
					}
				})
			}
		}
	})
}

// agentSleeps reports whether the command of sleepPrompt runs.
func (p *place) agentSleeps(t *testing.T) bool {
	for _, line := range p.agentProcesses(t) {
		if strings.HasPrefix(line, "sleep 3600") {
			return true
		}
	}
	return false
}

// sessionWith makes a session with an agent.
func (c *acpClient) sessionWith(agent string) string {
	c.t.Helper()
	id := c.session()
	c.ok("session/set_config_option", object{"sessionId": id, "configId": "agent", "value": agent})
	return id
}

// However many sessions an editor has with agents, at most limits.agents of them run, eight unless it is
// configured, and each session continues.
func TestAgentsAreFew(t *testing.T) {
	most, sessions, more := 3, 5, object{"limits": object{"agents": 3}}
	if everyAgent() {
		most, sessions, more = 8, 20, nil
	}
	forAgents(t, true, func(t *testing.T, a acpAgent) {
		p := newPlace(t)
		flags := a.configured(t, p, a.model(t, p), more)
		c := p.acpClient(t, object{}, true, flags...)
		var ids []string
		for i := range sessions {
			id := c.sessionWith(a.name)
			ids = append(ids, id)
			if stop := c.prompt(id, fmt.Sprintf("This is number %d. %s", i, tellPrompt)); stop != "end_turn" {
				t.Fatalf("session %d: %s\n%s", i, stop, c.stderr())
			}
			if n := p.agentShells(t); n < min(i+1, most) || n > most {
				t.Fatalf("%d agents run after %d sessions, want %d:%v", n, i+1, min(i+1, most), p.agentProcesses(t))
			}
		}
		if stop := c.prompt(ids[0], againPrompt); stop != "end_turn" {
			t.Errorf("the first session again: %s\n%s", stop, c.stderr())
		}
		if n := p.agentShells(t); n > most {
			t.Errorf("%d agents run", n)
		}
		if text := c.said(ids[0]); !strings.Contains(text, againAnswer) {
			t.Errorf("the agent has forgotten its first session: %q", text)
		}
		c.leave()
		p.noAgents(t)
	})
}
