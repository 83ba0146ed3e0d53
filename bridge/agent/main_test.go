package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/agenttest"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
	"dragoman/core/notices"
	"dragoman/core/policy"
)

// owns runs a process that is to be killed, with what its variable has; it is set where processes can be
// killed so.
var owns func(what string) int

// ownerVar is the variable of such a process.
const ownerVar = "OWNS_SESSIONS"

func TestMain(m *testing.M) {
	if what := os.Getenv(ownerVar); what != "" {
		os.Unsetenv(ownerVar)
		syscall.Exit(owns(what))
	}
	if os.Getenv("RUNS_TESTS") != "" {
		syscall.Exit(9) // a program that an agent starts must not run the tests again
	}
	os.Setenv("RUNS_TESTS", "1")
	code := m.Run()
	if dir, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(dir)) // it is a temporary folder
	}
	os.Exit(code)
}

// program builds the scripted agent, once.
var program = sync.OnceValues(func() (path string, err error) {
	dir, err := os.MkdirTemp("", "scripted-agent-")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "scripted")
	if text, err := exec.Command("go", "build", "-o", path, "./testdata/scripted").CombinedOutput(); err != nil {
		return path, fmt.Errorf("go build: %w\n%s", err, text)
	}
	return path, nil
})

// patience is the time after which a test counts as hanging.
const patience = 2 * time.Minute

// room is a gateway with scripted agents.
type room struct {
	t       *testing.T
	gateway *core.Gateway
	profile *core.Profile
	dir     string          // the sessions' folder
	ctx     context.Context //nolint:containedctx // ends what hangs
}

// scripted returns an agent that does what prompts tell it.
func scripted(t *testing.T, name string, o agenttest.Options, change ...func(*agent.Options)) core.Agent {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	opt := agent.Options{
		Name: name,
		Program: func(context.Context, core.Host) (agent.Program, error) {
			return agent.Program{Path: path, Env: map[string]string{agenttest.Variable: o.Value()}}, nil
		},
		Pool: agent.NewPool(), Guards: &child.Guards{}, Version: "test",
		Log: func(level, text string) { t.Logf("%s: %s: %s", name, level, text) },
	}
	for _, f := range change {
		f(&opt)
	}
	return core.Agent{Name: name, Rev: "1", External: true, Backend: agent.New(opt)}
}

// one returns a room with one agent.
func one(t *testing.T, o agenttest.Options, change ...func(*agent.Options)) *chat {
	t.Helper()
	return newRoom(t, []core.Agent{scripted(t, "scripted", o, change...)}).begin("")
}

// rule is a rule of a policy.
type rule = policy.Rule

// newRoom makes a gateway over a store on the disk. What no rule covers is asked.
func newRoom(t *testing.T, agents []core.Agent, rules ...rule) *room {
	t.Helper()
	home := t.TempDir()
	p, err := policy.New(policy.Options{Rules: rules, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r := &room{t: t, dir: t.TempDir(), ctx: ctx, profile: &core.Profile{Agents: agents, Policy: p}}
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

// chat is a client of a session.
type chat struct {
	*room
	at     *core.Attachment
	reader *core.Reader
	answer func(core.Ask) core.Reply // nil: no question is expected
	asked  []core.Ask
	events []core.Event // since the last prompt
}

// begin makes a session with an agent; "" is the default one.
func (r *room) begin(agent string) *chat {
	r.t.Helper()
	s, err := r.gateway.Create(r.ctx, core.Meta{Principal: core.Local, Cwd: r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	c := r.join(s)
	if agent != "" {
		if err := c.at.Set(r.ctx, core.Settings{Agent: agent}); err != nil {
			r.t.Fatal(err)
		}
	}
	return c
}

// join attaches a person to a session.
func (r *room) join(s *core.Session) *chat {
	at := s.Attach(core.Client{Name: "tester", Principal: core.Local, Asks: true, Questions: true})
	return &chat{room: r, at: at, reader: at.Read(core.Pos{})}
}

// again attaches another person to the session.
func (c *chat) again() *chat {
	at := c.at.Attach(core.Client{Name: "another", Principal: core.Local, Asks: true, Questions: true})
	return &chat{room: c.room, at: at, reader: at.Read(core.Pos{})}
}

// prompt sends a prompt.
func (c *chat) prompt(text string, more ...core.Block) core.TurnID {
	c.t.Helper()
	c.events = nil
	id, err := c.at.Prompt(c.ctx, core.Prompt{Blocks: append([]core.Block{core.Text{Text: text}}, more...)})
	if err != nil {
		c.t.Fatalf("%q: %v", text, err)
	}
	return id
}

// until reads up to an event, and answers questions on the way.
func (c *chat) until(found func(core.Event) bool) {
	c.t.Helper()
	if c.answer == nil {
		c.answer = func(a core.Ask) core.Reply {
			c.t.Errorf("unexpected question: %+v", a)
			return reject
		}
	}
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
				if reply := c.answer(e.Ask); reply.Outcome != "" {
					if err := c.at.Answer(c.ctx, e.Ask.ID, reply); err != nil {
						c.t.Errorf("answer %s: %v", e.Ask.ID, err)
					}
				}
			}
			done = done || found(rec.Event)
		}
		if done {
			return
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
func (c *chat) say(text string, more ...core.Block) (said string, end core.TurnEnded) {
	c.t.Helper()
	end = c.ended(c.prompt(text, more...))
	return c.text(), end
}

// says fails if the answer to a prompt is another one.
func (c *chat) says(prompt, want string) {
	c.t.Helper()
	if got, end := c.say(prompt); got != want || end.Stop != core.StopEnd {
		c.t.Errorf("%q: %q, %s %s; want %q", prompt, got, end.Stop, end.Err, want)
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

// calls lists the states of the last prompt's calls at their ends, as TITLE: STATE.
func (c *chat) calls() (list []string) {
	last := map[core.CallID]int{}
	for _, ev := range c.events {
		e, ok := ev.(core.CallChanged)
		if !ok {
			continue
		}
		i, seen := last[e.Call.ID]
		if !seen {
			i = len(list)
			last[e.Call.ID], list = i, append(list, "")
		}
		list[i] = e.Call.Title + ": " + string(e.Call.State)
	}
	return list
}

// lines shows the events since the last prompt.
func (c *chat) lines() (list []string) {
	for _, ev := range c.events {
		list = append(list, fmt.Sprintf("%T %.200s", ev, fmt.Sprint(ev)))
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

// record is the list of messages that an agent has got.
type record struct {
	t    *testing.T
	path string
}

func newRecord(t *testing.T) record { return record{t, filepath.Join(t.TempDir(), "record")} }

// count returns the number of requests of a method; of "start" that of starts.
func (r record) count(method string) (n int) {
	for _, m := range r.methods() {
		if m == method {
			n++
		}
	}
	return n
}

// methods lists the requests and notifications, and "start".
func (r record) methods() (list []string) {
	r.t.Helper()
	b, err := os.ReadFile(r.path)
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var m struct{ Method string }
		if strings.HasPrefix(line, "start ") {
			m.Method = "start"
		} else if err := json.Unmarshal([]byte(line), &m); err != nil {
			r.t.Fatalf("%v: %s", err, line)
		}
		if m.Method != "" {
			list = append(list, m.Method)
		}
	}
	return list
}

// pids lists the processes that were started.
func (r record) pids() (list []int) {
	b, _ := os.ReadFile(r.path) // none was started
	for line := range strings.Lines(string(b)) {
		var pid int
		if _, err := fmt.Sscanf(line, "start %d", &pid); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// has reports whether one of the texts contains a part.
func has(list []string, part string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
}
