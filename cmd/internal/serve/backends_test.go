package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// guests are the back ends that were made for the agent "code", which does not use the built-in
// loop here.
type guests struct {
	caps core.BackendCaps

	mu   sync.Mutex // guards the fields below
	made []*coretest.Backend
}

func (g *guests) backend(name string) core.Backend {
	if name != "code" {
		return nil
	}
	b := &coretest.Backend{
		CapsNow: g.caps, Offers: []core.Command{{Name: "review", Description: "Theirs"}, {Name: "model", Description: "Theirs"}},
		Run: func(ctx context.Context, t *core.Turn) (core.StopReason, error) {
			said, _ := t.Prompt()[0].(core.Text)
			return core.StopEnd, t.Emit(ctx, core.Bound{Agent: "code", State: []byte(`"x"`)}, core.TextDelta{Message: t.NewMessage(), Text: "heard: " + said.Text})
		},
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.made = append(g.made, b)
	return b
}

// used lists those that had a conversation.
func (g *guests) used() []*coretest.Backend {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(g.made), func(b *coretest.Backend) bool { return len(b.Bindings()) == 0 })
}

// speaker is a client of a dialect, with its one session.
type speaker struct {
	*idleClient
	face, session string
	prompts       int
}

// newSpeaker begins a session.
func newSpeaker(c *idleClient, face string) *speaker {
	s := &speaker{idleClient: c, face: face, session: "chat"}
	if face == "acp" {
		m := c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, c.work), `"id":"new"`)
		_, s.session, _ = strings.Cut(m, `"sessionId":"`)
		s.session, _, _ = strings.Cut(s.session, `"`)
	}
	return s
}

// say prompts and returns all messages until the turn has ended.
func (s *speaker) say(text string) string {
	s.t.Helper()
	s.prompts++
	id := fmt.Sprintf("go%d", s.prompts)
	switch s.face {
	case "acp":
		return s.all(request(id, "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, s.session, text)), `"id":"`+id+`"`)
	case "eca":
		return s.all(request(id, "chat/prompt", fmt.Sprintf(`{"chatId":%q,"message":%q}`, s.session, text)), `"state":"finished"`)
	}
	session := ""
	if s.prompts > 1 {
		session = fmt.Sprintf(`,"session_id":%q`, s.session)
	}
	m := s.all(request(id, "tools/call", fmt.Sprintf(`{"name":"agent_prompt","arguments":{"prompt":%q%s}}`, text, session)), `"id":"`+id+`"`)
	if s.prompts == 1 {
		_, s.session, _ = strings.Cut(m, `"session_id":"`)
		s.session, _, _ = strings.Cut(s.session, `"`)
	}
	return m
}

// Our commands work with an agent that does not use the built-in loop, in all dialects: they are
// carried out before it is asked. Its own commands reach it.
func TestCommandsWorkWithAnyAgent(t *testing.T) {
	for name, f := range idleFaces {
		t.Run(name, func(t *testing.T) {
			o, work := inPlace(t)
			g := &guests{caps: core.BackendCaps{OwnsHistory: true, Fork: true}}
			o.Backend = g.backend
			synctest.Test(t, func(t *testing.T) {
				c, end := f.connect(t, o, work)
				s := newSpeaker(c, name)
				has(t, name, s.say("hello"), "heard: hello")
				has(t, name, s.say("/model"), "**Models**")
				has(t, name, s.say("/login"), "**Providers**")
				has(t, name, s.say("/export talk.md"), "The session is written in")
				if _, err := os.Stat(filepath.Join(work, "talk.md")); err != nil {
					t.Error(err)
				}
				has(t, name, s.say("/fork"), "A copy of this session")
				for _, theirs := range []string{"/review now", "/compact", "/nothing of ours", "/modell"} {
					want := "heard: " + theirs
					if theirs == "/modell" {
						want = "Did you mean /model?" // it has listed its commands
					}
					has(t, name, s.say(theirs), want)
				}
				b := g.used()[0]
				b.Switch(core.BackendCaps{OwnsHistory: true})
				has(t, name, s.say("/fork"), "agent code keeps its own history and cannot be forked")
				if heard, want := b.Heard(), []string{"hello", "/review now", "/compact", "/nothing of ours"}; !slices.Equal(heard, want) {
					t.Errorf("the agent heard %q", heard)
				}
				end()
				if n := b.Ended(); n != 1 {
					t.Errorf("the back end was closed %d times", n)
				}
			})
		})
	}
}

// An agent's own commands are shown to editors: after ours that act, and without those for which
// it lacks a capability.
func TestCommandsOfAnAgentAreListed(t *testing.T) {
	o, work := inPlace(t)
	g := &guests{caps: core.BackendCaps{OwnsHistory: true}}
	o.Backend = g.backend
	synctest.Test(t, func(t *testing.T) {
		h, end := inProcess(t, o)
		defer end()
		acp, leave := idleFaces["acp"].join(t, h, core.Local, idleFaces["acp"].hello, work)
		defer leave()
		zed := newSpeaker(acp, "acp")
		has(t, "ACP", zed.all("", "available_commands_update"), `"name":"fork"`) // nobody has asked the agent yet
		said := zed.say("hello")
		synctest.Wait() // the lists do not wait for the turn
		for acp.Pending() {
			said += zed.all("", "")
		}
		has(t, "ACP", said, `{"name":"review","description":"Theirs"}`)
		last := said[strings.LastIndex(said, "available_commands_update"):]
		lacks(t, "ACP", last, `"name":"fork"`, `"name":"compact"`, `{"name":"model","description":"Theirs"`)
		eca, leave := idleFaces["eca"].join(t, h, core.Local, idleFaces["eca"].hello, work)
		defer leave()
		emacs := newSpeaker(eca, "eca")
		emacs.say("hello")
		list := emacs.ask(request("list", "chat/queryCommands", `{"chatId":"chat","query":""}`), `"id":"list"`)
		has(t, "ECA", list, `{"name":"review","description":"Theirs"`)
		lacks(t, "ECA", list, `"name":"fork"`, `"name":"compact"`)
	})
}

// A feature that an agent lacks is refused in each dialect's form, once.
func TestLacksOfAnAgentAreReportedInEachDialect(t *testing.T) {
	o, work := inPlace(t)
	g := &guests{caps: core.BackendCaps{OwnsHistory: true}}
	o.Backend = g.backend
	synctest.Test(t, func(t *testing.T) {
		h, end := inProcess(t, o)
		defer end()
		acp, leave := idleFaces["acp"].join(t, h, core.Local, idleFaces["acp"].hello, work)
		defer leave()
		zed := newSpeaker(acp, "acp")
		zed.say("hello")
		has(t, "ACP", zed.ask(request("fork", "session/fork", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, zed.session, work)), `"id":"fork"`),
			`"code":-32602`, "agent code keeps its own history and cannot be forked; create a new session")
		for kind, block := range map[string]string{
			"images": `{"type":"image","data":"AAAA","mimeType":"image/png"}`, "audio": `{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`,
			"embedded resources": `{"type":"resource","resource":{"uri":"file:///a","text":"a"}}`,
		} {
			has(t, "ACP", zed.ask(request(kind, "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[%s]}`, zed.session, block)), `"id":"`+kind+`"`),
				`"code":-32602`, "prompt: agent code takes no "+kind+"; choose another agent")
		}

		eca, leave := idleFaces["eca"].join(t, h, core.Local, idleFaces["eca"].hello, work)
		defer leave()
		emacs := newSpeaker(eca, "eca")
		said := emacs.say("hello")
		_, at, _ := strings.Cut(said, `"contentId":"`)
		at, _, _ = strings.Cut(at, `"`)
		for method, want := range map[string]string{"chat/fork": "cannot be forked", "chat/rollback": "cannot forget a part of it", "chat/clear": "cannot forget a part of it"} {
			has(t, "ECA", emacs.ask(request(method, method, fmt.Sprintf(`{"chatId":"chat","contentId":%q}`, at)), `"id":"`+method+`"`),
				`"code":-32602`, "agent code keeps its own history and "+want+"; begin a new chat")
		}
		if heard := g.used()[0].Heard(); !slices.Equal(heard, []string{"hello", "hello"}) {
			t.Errorf("the agent heard %q", heard)
		}
	})
}

// Clients of all dialects have sessions open with one agent. A change of the configuration that
// does not concern it closes nothing; one that does, and the gateway's end, close each back end
// once, after its conversations.
func TestReloadsCloseOnlyWhatTheyConcern(t *testing.T) {
	o, work := inPlace(t)
	g := &guests{caps: core.BackendCaps{OwnsHistory: true}}
	o.Backend = g.backend
	synctest.Test(t, func(t *testing.T) {
		h, end := inProcess(t, o)
		var all []*speaker
		var leave []func()
		for _, name := range []string{"acp", "eca", "mcp"} {
			c, bye := idleFaces[name].join(t, h, core.Local, idleFaces[name].hello, work)
			all, leave = append(all, newSpeaker(c, name)), append(leave, bye)
		}
		ctx, enough := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		watch.Go(func() { h.process.Watch(ctx) })
		life := func() (list []string) {
			synctest.Wait()
			for _, b := range g.used() {
				list = append(list, fmt.Sprintf("%d opened, %d closed, ended %d", len(b.Bindings()), b.Closed(), b.Ended()))
			}
			return list
		}
		wants := func(when string, want ...string) {
			t.Helper()
			if got := life(); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		round := func() {
			for _, s := range all {
				has(t, s.face, s.say("hello"), "heard: hello")
			}
		}
		round()
		wants("first", "3 opened, 0 closed, ended 0")
		configure(t, o, "log: {level: debug}\nagents: {other: {}}\n")
		<-time.After(5 * time.Second)
		round()
		<-time.After(5 * time.Minute)
		round()
		wants("behind a reload that does not concern it", "3 opened, 0 closed, ended 0")
		configure(t, o, "agents: {code: {instructions: Be short.}}\n")
		<-time.After(5 * time.Second)
		wants("behind one that does", "3 opened, 3 closed, ended 1")
		round()
		wants("of the new revision", "3 opened, 3 closed, ended 1", "3 opened, 0 closed, ended 0")
		enough()
		watch.Wait()
		for _, bye := range leave {
			bye()
		}
		end()
		wants("behind the gateway's end", "3 opened, 3 closed, ended 1", "3 opened, 3 closed, ended 1")
	})
}
