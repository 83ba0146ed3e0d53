package ecaserver_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/bridge/agent/launch"
	"dragoman/bridge/ecaserver"
	"dragoman/bridge/ecaserver/ecatest"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
	"dragoman/core/notices"
	"dragoman/core/policy"
)

// oddVar is the variable of a process that is to be killed: the time for which a program of its server sleeps.
const oddVar = "SLEEPS_ODD"

// holds runs such a process, where processes can be killed so.
var holds func(odd string) int

func TestMain(m *testing.M) {
	if os.Getenv(ecatest.Variable) != "" {
		syscall.Exit(ecatest.Main(os.Stdin, os.Stdout)) // the race detector would wait for a second
	}
	if odd := os.Getenv(oddVar); odd != "" {
		os.Unsetenv(oddVar)
		syscall.Exit(holds(odd))
	}
	os.Exit(m.Run())
}

// patience is the time after which a test counts as hanging.
const patience = time.Minute

// room is a gateway with a scripted server.
type room struct {
	t       *testing.T
	gateway *core.Gateway
	profile *core.Profile
	home    string
	dir     string          // the sessions' folder
	ctx     context.Context //nolint:containedctx // ends what hangs
}

// optionsOf returns the options of an agent that does what prompts tell it.
func optionsOf(t *testing.T, o ecatest.Options) ecaserver.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return ecaserver.Options{Options: launch.Options{
		Name: "scripted",
		Program: func(context.Context, core.Host) (launch.Program, error) {
			return launch.Program{Path: self, Env: map[string]string{ecatest.Variable: o.Value()}}, nil
		},
		Pool: launch.NewPool(), Guards: &child.Guards{}, Version: "test",
		Log: func(level, text string) { t.Logf("%s: %s", level, text) },
	}}
}

// scripted returns an agent that does what prompts tell it.
func scripted(t *testing.T, o ecatest.Options, change ...func(*ecaserver.Options)) core.Agent {
	t.Helper()
	opt := optionsOf(t, o)
	for _, f := range change {
		f(&opt)
	}
	return core.Agent{Name: "scripted", Rev: "1", External: true, Backend: ecaserver.New(opt)}
}

// back returns the back end.
func (r *room) back() *ecaserver.Backend { return r.profile.Agents[0].Backend.(*ecaserver.Backend) }

// rule is a rule of a policy.
type rule = policy.Rule

// newRoom makes a gateway over a store on the disk. What no rule covers is asked.
func newRoom(t *testing.T, agent core.Agent, rules ...rule) *room {
	t.Helper()
	return newRoomIn(t, t.TempDir(), agent, rules...)
}

// newRoomIn is newRoom with the sessions of another one.
func newRoomIn(t *testing.T, home string, agent core.Agent, rules ...rule) *room {
	t.Helper()
	p, err := policy.New(policy.Options{Rules: rules, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r := &room{t: t, home: home, dir: t.TempDir(), ctx: ctx, profile: &core.Profile{Agents: []core.Agent{agent}, Policy: p}}
	if r.dir, err = filepath.EvalSymlinks(r.dir); err != nil {
		t.Fatal(err)
	}
	r.gateway = core.New(core.Config{
		Store: jsonl.New(filepath.Join(home, "sessions")), Node: "test",
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return r.profile, nil }),
	})
	t.Cleanup(func() {
		defer cancel()
		if err := r.gateway.Close(ctx); err != nil {
			t.Error("close:", err)
		}
	})
	return r
}

// one returns a session with a scripted server.
func one(t *testing.T, o ecatest.Options, change ...func(*ecaserver.Options)) *chat {
	t.Helper()
	return newRoom(t, scripted(t, o, change...)).begin()
}

// chat is a client of a session.
type chat struct {
	*room
	session *core.Session
	at      *core.Attachment
	reader  *core.Reader
	answer  func(core.Ask) core.Reply // nil: no question is expected
	asked   []core.Ask
	events  []core.Event // since the last prompt
}

// begin makes a session.
func (r *room) begin() *chat {
	r.t.Helper()
	s, err := r.gateway.Create(r.ctx, core.Meta{Principal: core.Local, Cwd: r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.join(s)
}

// join attaches a person to a session.
func (r *room) join(s *core.Session) *chat {
	at := s.Attach(core.Client{Name: "tester", Principal: core.Local, Asks: true, Questions: true})
	return &chat{room: r, session: s, at: at, reader: at.Read(core.Pos{})}
}

// prompt sends a prompt, a command a line.
func (c *chat) prompt(lines ...string) core.TurnID {
	c.t.Helper()
	c.events = nil
	id, err := c.at.Prompt(c.ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: strings.Join(lines, "\n")}}})
	if err != nil {
		c.t.Fatalf("%q: %v", lines, err)
	}
	return id
}

// until reads up to an event, and answers questions on the way.
func (c *chat) until(found func(core.Event) bool) {
	c.t.Helper()
	for {
		records, err := c.reader.Next(c.ctx)
		if err != nil {
			c.t.Fatalf("%v; so far:\n%s", err, strings.Join(c.lines(), "\n"))
		}
		done := false
		for _, rec := range records {
			c.events = append(c.events, rec.Event)
			if e, ok := rec.Event.(core.Asked); ok {
				c.asked = append(c.asked, e.Ask)
				c.reply(e.Ask)
			}
			done = done || found(rec.Event)
		}
		if done {
			return
		}
	}
}

func (c *chat) reply(a core.Ask) {
	c.t.Helper()
	if c.answer == nil {
		c.t.Errorf("unexpected question: %+v", a)
		return
	}
	if reply := c.answer(a); reply.Outcome != "" {
		if err := c.at.Answer(c.ctx, a.ID, reply); err != nil {
			c.t.Errorf("answer %s: %v", a.ID, err)
		}
	}
}

// ended reads to the end of a turn.
func (c *chat) ended(id core.TurnID) (end core.TurnEnded) {
	c.t.Helper()
	c.until(func(ev core.Event) bool {
		e, ok := ev.(core.TurnEnded)
		if ok && e.Turn == id {
			end = e
		}
		return ok && e.Turn == id
	})
	return end
}

// say sends a prompt and returns the text and the end of its turn.
func (c *chat) say(lines ...string) (said string, end core.TurnEnded) {
	c.t.Helper()
	end = c.ended(c.prompt(lines...))
	return c.text(), end
}

// says fails if the answer to a prompt is another one.
func (c *chat) says(prompt, want string) {
	c.t.Helper()
	if got, end := c.say(prompt); got != want || end.Stop != core.StopEnd {
		c.t.Errorf("%q: %q, %s %s; want %q\n%s", prompt, got, end.Stop, end.Err, want, strings.Join(c.lines(), "\n"))
	}
}

// text returns the agent's answers since the last prompt.
func (c *chat) text() string {
	var b strings.Builder
	for _, ev := range c.events {
		if e, ok := ev.(core.TextDelta); ok {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// notices are those since the last prompt.
func (c *chat) notices() string {
	var list []string
	for _, ev := range c.events {
		if n, ok := notices.Of(ev); ok {
			list = append(list, n.Text)
		}
	}
	return strings.Join(list, "\n")
}

// states lists the states of the calls since the last prompt, in order, as TITLE: STATE STATE.
func (c *chat) states() (list []string) {
	at := map[core.CallID]int{}
	for _, ev := range c.events {
		e, ok := ev.(core.CallChanged)
		if !ok {
			continue
		}
		i, seen := at[e.Call.ID]
		if !seen {
			i = len(list)
			at[e.Call.ID], list = i, append(list, e.Call.Tool+":")
		}
		if state := " " + string(e.Call.State); !strings.HasSuffix(list[i], state) {
			list[i] += state
		}
	}
	return list
}

// last returns the last state of a call of a tool.
func (c *chat) last(tool string) (call core.Call) {
	for _, ev := range c.events {
		if e, ok := ev.(core.CallChanged); ok && e.Call.Tool == tool {
			call = e.Call
		}
	}
	return call
}

// lines shows the events since the last prompt.
func (c *chat) lines() (list []string) {
	for _, ev := range c.events {
		list = append(list, fmt.Sprintf("%T %.300s", ev, fmt.Sprint(ev)))
	}
	return list
}

// Answers to approvals.
var (
	allow  = core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowOnce}
	reject = core.Reply{Outcome: core.OutcomeDecided, Decision: core.RejectOnce}
)

// always answers every question in the same way.
func always(r core.Reply) func(core.Ask) core.Reply { return func(core.Ask) core.Reply { return r } }

// recorded returns the messages of a method that a server has got.
func recorded(t *testing.T, path, method string) (list []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if name, params, _ := strings.Cut(strings.TrimSpace(line), " "); name == method {
			list = append(list, params)
		}
	}
	return list
}
