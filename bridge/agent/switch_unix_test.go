//go:build unix

package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/bridge/agent/agenttest"
	"dragoman/bridge/agent/elsewhere"
	"dragoman/core"
	"dragoman/core/coretest"
)

// builtIn is an agent that repeats what it is told.
func builtIn() core.Agent {
	return core.Agent{Name: "code", Rev: "1", Backend: &coretest.Backend{Run: func(ctx context.Context, t *core.Turn) (core.StopReason, error) {
		said, _ := t.Prompt()[0].(core.Text)
		return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: said.Text})
	}}}
}

// choose sets the session's agent.
func (c *chat) choose(agent string) {
	c.t.Helper()
	if err := c.at.Set(c.ctx, core.Settings{Agent: agent}); err != nil {
		c.t.Fatal(err)
	}
}

// hears prompts the agent, and fails unless its prompt has all the texts, and a brief with them, which
// everybody can read.
func (c *chat) hears(texts ...string) (said string) {
	c.t.Helper()
	at := c.at.Head()
	said, end := c.say("heard")
	said = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\n`, "\n").Replace(said)
	if end.Stop != core.StopEnd || strings.Contains(said, "<conversation>") != (len(texts) > 0) {
		c.t.Errorf("heard %q, %+v", said, end)
	}
	var briefs []string
	for r, err := range c.at.Records(c.ctx, at, c.at.Head()) {
		if err != nil {
			c.t.Fatal(err)
		}
		if e, ok := r.Event.(core.Briefed); ok {
			briefs = append(briefs, e.Text)
		}
	}
	if len(texts) > 0 != (len(briefs) == 1) || len(briefs) == 1 && !strings.Contains(said, briefs[0][:60]) {
		c.t.Errorf("heard %q, and the log has %q", said, briefs)
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			c.t.Errorf("heard %q, which has no %q", said, text)
		}
	}
	return said
}

// reopen closes the session's process and opens the session in another one.
func (s *shelf) reopen(c *chat) *chat {
	s.t.Helper()
	id := c.at.Meta().ID
	if err := c.gateway.Close(c.ctx); err != nil {
		s.t.Fatal(err)
	}
	r, _ := s.process()
	r.profile.Agents = append(r.profile.Agents, builtIn())
	got, err := r.gateway.Open(r.ctx, core.Local, id)
	if err != nil {
		s.t.Fatal(err)
	}
	c = r.join(got)
	c.reader = c.at.Read(c.at.Head())
	return c
}

// begun returns a session that another agent has begun.
func (s *shelf) begun() *chat {
	s.t.Helper()
	r, _ := s.process()
	r.profile.Agents = append(r.profile.Agents, builtIn())
	c := r.begin("code")
	c.says("The code word is XYZZY.", "The code word is XYZZY.")
	c.choose("scripted")
	return c
}

// An agent that is chosen again goes on with the session that it had, and is told what was said
// meanwhile, once, after a notice. That session is not listed beside ours.
func TestAnAgentThatIsChosenAgain(t *testing.T) {
	s := newShelf(t)
	r, b := s.process()
	r.profile.Agents = append(r.profile.Agents, builtIn())
	c := r.begin("scripted")
	c.says("say The boats are in.", "The boats are in.\n")
	c.choose("code")
	c.says("The code word is XYZZY.", "The code word is XYZZY.")
	if n := c.notices(); n != "Agent code answers now. What was said before goes to the provider of its model." {
		t.Errorf("notices: %s", n)
	}
	c.choose("scripted")
	if said := c.hears("said since", "XYZZY"); strings.Contains(said, "The boats are in.") {
		t.Errorf("it was told again what it had said: %s", said)
	}
	if n := c.notices(); !strings.HasPrefix(n, "Agent scripted answers now. What was said since it answered last goes to it, and so to its provider.") {
		t.Errorf("notices: %s", n)
	}
	c.hears()
	if news, loads := s.rec.count("session/new"), s.rec.count("session/load"); news != 1 || loads != 1 {
		t.Errorf("%d new sessions, %d loaded", news, loads)
	}
	if list, err := b.List(r.ctx); err != nil || len(list) != 1 {
		t.Errorf("the agent's own list: %+v, %v", list, err)
	}
	r.wantsList(string(c.at.Meta().ID) + ": say The boats are in.")

	c = s.reopen(c)
	c.hears()
	if n := s.rec.count("session/load"); n != 2 {
		t.Errorf("%d loaded", n)
	}
}

// An agent that has lost its session meanwhile, or can continue none, is told all of the conversation.
func TestAnAgentThatIsChosenAgainWithoutItsSession(t *testing.T) {
	for name, change := range map[string]func(*agenttest.Options, string){
		"lost":           func(o *agenttest.Options, file string) { o.FaultsFile = file },
		"continues none": func(o *agenttest.Options, _ string) { o.Load = false },
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "faults")
			s := newShelf(t, func(o *agenttest.Options) { change(o, file) })
			r, _ := s.process()
			r.profile.Agents = append(r.profile.Agents, builtIn())
			c := r.begin("scripted")
			c.says("say The boats are in.", "The boats are in.\n")
			c.choose("code")
			c.says("The code word is XYZZY.", "The code word is XYZZY.")
			c.choose("scripted")
			faults(t, file, map[string]string{"session/load": "error -32002 Resource not found"})
			c.hears("said so far", "The boats are in.", "XYZZY")
			c.hears()
		})
	}
}

// A session that an agent would name by its brief keeps its title.
func TestBriefsNameNoSession(t *testing.T) {
	s := newShelf(t)
	c := s.begun()
	if said, _ := c.say("title What was said so far"); said != "" || c.at.State().Title != "The code word is XYZZY." {
		t.Errorf("%q, title %q", said, c.at.State().Title)
	}
}

// What was said before an agent's first prompt reaches it, also when its session was opened by an
// earlier process.
func TestASessionThatWasOnlyOpened(t *testing.T) {
	s := newShelf(t)
	c := s.begun()
	if err := c.gateway.Prepare(c.ctx, c.at); err != nil {
		t.Fatal(err)
	}
	c = s.reopen(c)
	c.hears("XYZZY")
	if news, loads := s.rec.count("session/new"), s.rec.count("session/load"); news != 1 || loads != 1 {
		t.Errorf("%d new sessions, %d loaded", news, loads)
	}
	c = s.reopen(c)
	c.hears()
}

// An agent that does not keep a session without a prompt has lost nothing. One that has lost a session
// in which something was said is reported.
func TestALostSessionIsReportedWhereSomethingWasSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faults")
	s := newShelf(t, func(o *agenttest.Options) { o.FaultsFile = file })
	r, _ := s.process()
	c := r.begin("scripted")
	if err := r.gateway.Prepare(r.ctx, c.at); err != nil {
		t.Fatal(err)
	}
	faults(t, file, map[string]string{"session/load": "error -32002 Resource not found"})
	c = s.reopen(c)
	c.reader = c.at.Read(core.Pos{})
	c.hears()
	if n := c.notices(); n != "" {
		t.Errorf("notices of a session that was only opened: %s", n)
	}
	c = s.reopen(c)
	c.hears("heard")
	if n := c.notices(); !strings.Contains(n, "could not continue its session") || !strings.Contains(n, "Resource not found") {
		t.Errorf("notices of a session that was lost: %s", n)
	}
}

// A session that was imported from the agent is continued there with what it has not heard.
func TestAnImportedSessionWithAnotherAgentBetween(t *testing.T) {
	s := newShelf(t)
	past(t, s.o, "one", s.dir, "An old one", year, chunk("user_message_chunk", "First"), chunk("agent_message_chunk", "Yes."))
	r, b := s.process()
	r.profile.Agents = append(r.profile.Agents, builtIn())
	if _, err := b.List(r.ctx); err != nil {
		t.Fatal(err)
	}
	got, err := r.gateway.Open(r.ctx, core.Local, elsewhere.ImportID("scripted", "one"))
	if err != nil {
		t.Fatal(err)
	}
	c := r.join(got)
	c.reader = c.at.Read(c.at.Head())
	c.says("say The boats are in.", "The boats are in.\n")
	c.choose("code")
	c.says("The code word is XYZZY.", "The code word is XYZZY.")
	c.choose("scripted")
	if said := c.hears("said since", "XYZZY"); strings.Contains(said, "The boats are in.") {
		t.Errorf("it was told again what it had said: %s", said)
	}
	if st := c.at.State(); st.Messages != 8 {
		t.Errorf("%d messages", st.Messages)
	}
	r.wantsList(string(got.Meta().ID) + ": An old one")
	if entries, err := os.ReadDir(s.o.Dir); err != nil || len(entries) != 1 {
		t.Errorf("the agent has %v, %v", entries, err)
	}
}
