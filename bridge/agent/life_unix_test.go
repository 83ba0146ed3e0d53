//go:build unix

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/agenttest"
	"dragoman/core"
	"dragoman/core/child/childtest"
)

// clock is a clock that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// faults writes a file of faults, for the agents that are started from now on.
func faults(t *testing.T, path string, list map[string]string) {
	t.Helper()
	b, err := json.Marshal(list)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// After a start that failed the next attempt waits for 1 s, 2 s, 4 s … 5 min, and only a prompt makes
// one.
func TestBackoff(t *testing.T) {
	now := &clock{now: time.Unix(1_700_000_000, 0)}
	rec, file := newRecord(t), filepath.Join(t.TempDir(), "faults")
	faults(t, file, map[string]string{"start": "stderr no license found; exit 3"})
	c := one(t, agenttest.Options{Record: rec.path, FaultsFile: file}, func(o *agent.Options) { o.Now = now.Now })
	fails := func() {
		t.Helper()
		if _, end := c.say("say hello"); end.Stop != core.StopError || !strings.Contains(end.Err, "no license found") {
			t.Errorf("%+v", end)
		}
	}
	waits := func(want time.Duration) {
		t.Helper()
		id := c.prompt("say hello")
		c.until(func(ev core.Event) bool {
			e, ok := ev.(core.Phase)
			if ok && e.Kind == core.PhaseRetrying && e.After != want {
				t.Errorf("it waits for %v, want %v", e.After, want)
			}
			return ok && e.Kind == core.PhaseRetrying
		})
		if err := c.at.Cancel(c.ctx, id, nil); err != nil {
			t.Error(err)
		}
		if end := c.ended(id); end.Stop != core.StopCanceled {
			t.Errorf("%+v", end)
		}
	}
	fails()
	for i, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		wait *= time.Second
		waits(wait)
		now.pass(wait / 2)
		waits(wait / 2)
		if _, err := c.gateway.ProfileOf(c.ctx, c.at); err != nil {
			t.Error(err)
		}
		for _, err := range c.gateway.List(c.ctx, core.Local) {
			if err != nil {
				t.Error(err)
			}
		}
		c.again()
		if n := rec.count("start"); n != i+1 {
			t.Fatalf("%d starts within %v, want %d", n, wait, i+1)
		}
		now.pass(wait / 2)
		fails()
		if n := rec.count("start"); n != i+2 {
			t.Fatalf("%d starts after %v, want %d", n, wait, i+2)
		}
	}
	faults(t, file, nil)
	now.pass(5 * time.Minute)
	c.says("say hello", "hello\n")
	c.say("crash") // which is no failed start
	c.says("say hello", "hello\n")
}

// What keeps one session from being opened delays that one alone.
func TestBackoffOfOneSession(t *testing.T) {
	for _, name := range []string{"its folder is gone", "the agent refuses it"} {
		t.Run(name, func(t *testing.T) {
			now, file := &clock{now: time.Unix(1_700_000_000, 0)}, filepath.Join(t.TempDir(), "faults")
			a := scripted(t, "scripted", agenttest.Options{FaultsFile: file}, func(o *agent.Options) { o.Now = now.Now })
			r := newRoom(t, []core.Agent{a})
			good := r.begin("")
			good.says("say one", "one\n")
			dir := filepath.Join(t.TempDir(), "work")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			s, err := r.gateway.Create(r.ctx, core.Meta{Principal: core.Local, Cwd: dir})
			if err != nil {
				t.Fatal(err)
			}
			bad := r.join(s)
			if name == "its folder is gone" {
				err = os.Remove(dir)
			} else {
				faults(t, file, map[string]string{"session/new": "error not this one"})
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, end := bad.say("say x"); end.Stop != core.StopError {
					t.Errorf("%+v", end)
				}
				now.pass(10 * time.Minute)
			}
			if _, end := bad.say("say x"); end.Stop != core.StopError {
				t.Errorf("%+v", end)
			}
			faults(t, file, nil)
			good.say("crash")
			good.says("say two", "two\n")
			for _, ev := range good.events {
				if e, ok := ev.(core.Phase); ok && e.Kind == core.PhaseRetrying {
					t.Errorf("another session waits for %v", e.After)
				}
			}
			id := bad.prompt("say y")
			bad.until(func(ev core.Event) bool {
				e, ok := ev.(core.Phase)
				if ok && e.Kind == core.PhaseRetrying && e.After != 8*time.Second {
					t.Errorf("it waits for %v", e.After)
				}
				return ok && e.Kind == core.PhaseRetrying
			})
			if err := bad.at.Cancel(bad.ctx, id, nil); err != nil {
				t.Error(err)
			}
			bad.ended(id)
		})
	}
}

// Of several sessions that wait one makes the next attempt alone. If it fails the others wait again, and if
// it succeeds all start.
func TestOneAttemptAlone(t *testing.T) {
	rec, file := newRecord(t), filepath.Join(t.TempDir(), "faults")
	faults(t, file, map[string]string{"start": "stderr no license found; exit 3"})
	r := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{Record: rec.path, FaultsFile: file})})
	var chats []*chat
	for range 6 {
		chats = append(chats, r.begin(""))
	}
	if _, end := chats[0].say("say x"); end.Stop != core.StopError {
		t.Fatalf("%+v", end)
	}
	var turns []core.TurnID
	for _, c := range chats {
		turns = append(turns, c.prompt("say x"))
	}
	childtest.Soon(t, "the next attempt", func() bool { return rec.count("start") > 1 })
	faults(t, file, nil)
	failures := 0
	for i, c := range chats {
		if end := c.ended(turns[i]); end.Stop == core.StopError {
			failures++
		} else if c.text() != "x\n" {
			t.Errorf("%+v: %q", end, c.text())
		}
	}
	if n := rec.count("start"); failures > 1 || n != 1+len(chats) { // the attempt may just have missed the fault
		t.Errorf("%d starts, and %d turns failed", n, failures)
	}
}

// An agent that dies in a turn ends it, with what it said last, and the next prompt starts it
// again and continues.
func TestKilledInATurn(t *testing.T) {
	rec := newRecord(t)
	c := one(t, agenttest.Options{Dir: t.TempDir(), Load: true, Record: rec.path})
	c.says("say one", "one\n")
	said, end := c.say("say two\nstderr a line before the end\nstderr out of memory\ncrash")
	if end.Stop != core.StopError || !strings.Contains(end.Err, "out of memory") || said != "two\n" {
		t.Errorf("%q, %+v", said, end)
	}
	c.says("say three", "three\n")
	if got := strings.Join(rec.methods(), " "); got != "start initialize session/new session/prompt session/prompt start initialize session/load session/prompt" {
		t.Error(got)
	}
	if all := c.whole(); all != "one\ntwo\nthree\n" {
		t.Errorf("the log has %q", all)
	}
}

// whole is all that the agent has said in the session.
func (c *chat) whole() string {
	var b strings.Builder
	for rec, err := range c.at.Records(c.ctx, core.Pos{}, c.at.Head()) {
		if err != nil {
			c.t.Error(err)
		}
		if e, ok := rec.Event.(core.TextDelta); ok {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// An agent that can neither load nor resume gets what was said in the log.
func TestBriefForAnAgentWithoutLoad(t *testing.T) {
	rec := newRecord(t)
	c := one(t, agenttest.Options{Record: rec.path})
	c.says("say The password is swordfish.", "The password is swordfish.\n")
	c.say("crash")
	said, end := c.say("heard")
	if end.Stop != core.StopEnd || !strings.Contains(said, "swordfish") || !strings.Contains(said, `"heard`) && !strings.Contains(said, `heard"`) {
		t.Errorf("%q, %+v", said, end)
	}
	if got := rec.count("session/new"); got != 2 {
		t.Errorf("%d sessions of the agent's", got)
	}
	if all := c.whole(); strings.Count(all, "swordfish") != 3 { // what it said, and the brief, which has the prompt as well
		t.Errorf("the log has %q", all)
	}
}

// It resumes where it can, which repeats nothing.
func TestResume(t *testing.T) {
	rec := newRecord(t)
	c := one(t, agenttest.Options{Dir: t.TempDir(), Load: true, Resume: true, Record: rec.path})
	c.says("say one", "one\n")
	c.say("crash")
	c.says("say two", "two\n")
	if rec.count("session/resume") != 1 || rec.count("session/load") != 0 {
		t.Error(rec.methods())
	}
}

// spied is a back end whose newest conversation a test can ask.
type spied struct {
	core.Backend

	mu   sync.Mutex // guards the field below
	last core.Conversation
}

func (s *spied) Open(ctx context.Context, b core.Binding) (core.Conversation, error) {
	c, err := s.Backend.Open(ctx, b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = c
	return c, err
}

func (s *spied) rests() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.(core.Rester).Rest()
}

// The session may rest, which ends the program, when it was not used for Idle, nobody is asked,
// and the agent can continue it later.
func TestIdle(t *testing.T) {
	for _, test := range []struct {
		name  string
		o     agenttest.Options
		idle  time.Duration
		rests bool
	}{
		{"it loads", agenttest.Options{Dir: t.TempDir(), Load: true}, time.Minute, true},
		{"it resumes", agenttest.Options{Dir: t.TempDir(), Resume: true}, time.Minute, true},
		{"it can do neither", agenttest.Options{}, time.Minute, false},
		{"it is never to end", agenttest.Options{Dir: t.TempDir(), Load: true}, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := &clock{now: time.Unix(1_700_000_000, 0)}
			a := scripted(t, "scripted", test.o, func(o *agent.Options) { o.Now, o.Idle = now.Now, test.idle })
			spy := &spied{Backend: a.Backend}
			a.Backend = spy
			c := newRoom(t, []core.Agent{a}).begin("")
			c.says("say one", "one\n")
			now.pass(test.idle - 1)
			if spy.rests() {
				t.Error("it rests too early")
			}
			now.pass(1)
			childtest.Soon(t, "it rests, or not, as it should", func() bool { return spy.rests() == test.rests })

			// A text behind the answer is a turn of its own; it is not busy for ever.
			c.prompt("say two\nlate three")
			c.until(func(core.Event) bool { return strings.HasSuffix(c.text(), "three\n") })
			childtest.Soon(t, "the turn ends", func() bool { return c.at.State().Turn == "" })
			now.pass(test.idle)
			childtest.Soon(t, "it rests again", func() bool { return spy.rests() == test.rests })

			c.answer = always(core.Reply{})
			c.prompt(`background-permission {"title":"t","kind":"execute","rawInput":{"command":"make"}}`)
			c.until(func(ev core.Event) bool { _, asked := ev.(core.Asked); return asked })
			now.pass(test.idle + time.Hour)
			if spy.rests() {
				t.Error("it rests while somebody is asked")
			}
		})
	}
}

// A session that its last client has left ends its program, and opened again it continues.
func TestLeftSession(t *testing.T) {
	rec := newRecord(t)
	c := one(t, agenttest.Options{Dir: t.TempDir(), Load: true, Record: rec.path})
	c.says("say one", "one\n")
	id, pid := c.at.Meta().ID, rec.pids()[0]
	c.at.Leave()
	childtest.Soon(t, "it ends", func() bool { return !childtest.Running(pid) })
	s, err := c.gateway.Open(c.ctx, core.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	if n := rec.count("start"); n != 1 {
		t.Errorf("%d starts before a prompt", n)
	}
	d := c.join(s)
	if said, _ := d.say("say two"); !strings.HasSuffix(said, "two\n") || rec.count("session/load") != 1 {
		t.Errorf("%q, %v", said, rec.methods())
	}
}

// At most so many programs run: the one that was idle for longest makes room, and where none is
// idle a session waits, and says so.
func TestLimitOfPrograms(t *testing.T) {
	const sessions, limit = 20, 8
	rec := newRecord(t)
	pool := agent.NewPool()
	pool.Limit(limit)
	r := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{Dir: t.TempDir(), Load: true, Record: rec.path}, func(o *agent.Options) { o.Pool = pool })})
	running := func() (n int) {
		for _, pid := range rec.pids() {
			if childtest.Running(pid) {
				n++
			}
		}
		return n
	}
	var chats []*chat
	for i := range sessions {
		c := r.begin("")
		c.says(fmt.Sprintf("say %d", i), fmt.Sprintf("%d\n", i))
		if n := running(); n > limit {
			t.Fatalf("%d programs run", n)
		}
		chats = append(chats, c)
	}
	if n := running(); n != limit {
		t.Errorf("%d programs run", n)
	}
	oldest := rec.pids()[sessions-limit]
	chats[0].says("say again", "again\n")
	if childtest.Running(oldest) || running() > limit {
		t.Error("it was not the oldest that made room")
	}

	// All are busy.
	var turns []core.TurnID
	for _, c := range chats[:limit] {
		turns = append(turns, c.prompt("say busy\nwait"))
		c.until(func(core.Event) bool { return c.text() == "busy\n" })
	}
	waiting := chats[limit]
	id := waiting.prompt("say at last")
	waiting.until(func(core.Event) bool { return waiting.notices() != "" })
	if got := waiting.notices(); !strings.Contains(got, "8") {
		t.Errorf("it says %q", got)
	}
	if n := running(); n != limit {
		t.Errorf("%d programs run", n)
	}
	if err := chats[3].at.Cancel(r.ctx, turns[3], nil); err != nil {
		t.Error(err)
	}
	if end := waiting.ended(id); end.Stop != core.StopEnd || waiting.text() != "at last\n" {
		t.Errorf("%+v, %q", end, waiting.text())
	}
	for i, c := range chats[:limit] {
		if err := c.at.Cancel(r.ctx, turns[i], nil); err != nil {
			t.Error(err)
		}
		if end := c.ended(turns[i]); end.Stop != core.StopCanceled {
			t.Errorf("%+v", end)
		}
	}
}

// A session that is opened while no place is free is not waited for: its first prompt starts the agent, and
// says that it waits.
func TestOpenedWithoutAPlace(t *testing.T) {
	pool := agent.NewPool()
	pool.Limit(1)
	o := agenttest.Options{Dir: t.TempDir(), Load: true, Config: agenttest.SampleConfig()}
	r := newRoom(t, []core.Agent{scripted(t, "scripted", o, func(o *agent.Options) { o.Pool = pool })})
	a, b := r.begin(""), r.begin("")
	first := a.prompt("say busy\nwait")
	a.until(func(core.Event) bool { return a.text() != "" })
	hurry(b)
	if err := r.gateway.Prepare(r.ctx, b.at); err != nil {
		t.Fatal(err)
	}
	if st := b.at.State(); len(st.Offered.Choices) > 0 {
		t.Errorf("%+v", st.Offered)
	}
	second := b.prompt("say at last")
	b.until(func(core.Event) bool { return strings.Contains(b.notices(), "1 agents run already") })
	if err := a.at.Cancel(r.ctx, first, nil); err != nil {
		t.Error(err)
	}
	if end := b.ended(second); end.Stop != core.StopEnd || b.text() != "at last\n" {
		t.Errorf("%+v, %q", end, b.text())
	}
	if st := b.at.State(); len(st.Offered.Choices) == 0 {
		t.Error("the agent's choices are not known")
	}
}

// An agent holds no place while somebody is asked whether its program may be started.
func TestAskingHoldsNoPlace(t *testing.T) {
	pool := agent.NewPool()
	pool.Limit(1)
	asking, agreed := make(chan struct{}, 10), make(chan struct{})
	r := newRoom(t, []core.Agent{
		scripted(t, "scripted", agenttest.Options{Dir: t.TempDir(), Load: true}, func(o *agent.Options) { o.Pool = pool }),
		scripted(t, "changed", agenttest.Options{}, func(o *agent.Options) {
			find := o.Program
			o.Pool, o.Program = pool, func(ctx context.Context, h core.Host) (agent.Program, error) {
				asking <- struct{}{}
				<-agreed
				return find(ctx, h)
			}
		}),
	})
	a, b := r.begin("changed"), r.begin("scripted")
	first := a.prompt("say first")
	<-asking
	b.says("say second", "second\n")
	if b.notices() != "" {
		t.Error(b.notices())
	}
	close(agreed)
	if end := a.ended(first); end.Stop != core.StopEnd || a.text() != "first\n" {
		t.Errorf("%+v, %q", end, a.text())
	}
}

// Who waits for a place can be cancelled.
func TestCancelWhileWaitingForAPlace(t *testing.T) {
	pool := agent.NewPool()
	pool.Limit(1)
	r := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{}, func(o *agent.Options) { o.Pool = pool })})
	a, b := r.begin(""), r.begin("")
	first := a.prompt("say busy\nwait")
	a.until(func(core.Event) bool { return a.text() != "" })
	second := b.prompt("say never")
	b.until(func(core.Event) bool { return b.notices() != "" })
	if err := b.at.Cancel(r.ctx, second, nil); err != nil {
		t.Error(err)
	}
	if end := b.ended(second); end.Stop != core.StopCanceled {
		t.Errorf("%+v", end)
	}
	if err := a.at.Cancel(r.ctx, first, nil); err != nil {
		t.Error(err)
	}
	a.ended(first)
}

// The choices of a session are kept and made again when its program is started again. One that the
// agent refuses is reported.
func TestChoicesAreKept(t *testing.T) {
	rec := newRecord(t)
	o := agenttest.Options{Dir: t.TempDir(), Load: true, Record: rec.path, Config: agenttest.SampleConfig(), Refuse: []string{"model=huge"}}
	c := one(t, o, func(o *agent.Options) { o.Choices = map[string]string{"effort": "high", "model": "huge"} })
	said, _ := c.say("option effort\noption model\noption fast")
	if said != "effort=high\nmodel=small\nfast=false\n" {
		t.Error(said)
	}
	if got := c.notices(); !strings.Contains(got, "your plan has no model huge") {
		t.Errorf("notices: %q", got)
	}
	for id, value := range map[string]string{"model": "large", "fast": "true", "mode": "code"} {
		if err := c.gateway.Choose(c.ctx, c.at, id, value); err != nil {
			t.Errorf("%s=%s: %v", id, value, err)
		}
	}
	if err := c.gateway.Choose(c.ctx, c.at, "model", "huge"); err == nil || !strings.Contains(err.Error(), "your plan has no model huge") {
		t.Error(err)
	}
	const want = "model=large\nfast=true\nmode=code\neffort=high\n"
	c.says("option model\noption fast\noption mode\noption effort", want)
	c.say("crash")
	c.says("option model\noption fast\noption mode\noption effort", want)
	if got := c.at.State().Offered.Choices; len(got) != 4 || got[1].Value != "large" {
		t.Errorf("%+v", got)
	}
}
