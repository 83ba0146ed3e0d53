package agent_test

import (
	"bufio"
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
	"dragoman/bridge/agent/launch"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/child/childtest"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

// owning describes what an owner and its successor have in common.
type owning struct {
	Program, Home, Dir string
	Agent              agenttest.Options
	Shared             bool
}

// sessions are the owner's; the first one is continued.
var sessions = []core.SessionID{"first", "second"}

// gateway returns a gateway over the sessions in Home. start is called before each start of the agent.
func (o owning) gateway(wait time.Duration, start func()) *core.Gateway {
	back := agent.New(agent.Options{
		Name: "scripted",
		Program: func(context.Context, core.Host) (agent.Program, error) {
			start()
			return agent.Program{Path: o.Program, Env: map[string]string{agenttest.Variable: o.Agent.Value()}}, nil
		},
		Pool: agent.NewPool(), Guards: &child.Guards{}, Locks: &launch.Locks{Dir: filepath.Join(o.Home, "locks"), Wait: wait},
		Version: "test", Shared: o.Shared,
	})
	profile := &core.Profile{Agents: []core.Agent{{Name: "scripted", Rev: "1", External: true, Backend: back}}}
	return core.New(core.Config{
		Store: jsonl.New(filepath.Join(o.Home, "sessions")), Node: "test",
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return profile, nil }),
	})
}

func init() { owns = own }

// own runs a gateway with turns that wait in all sessions, says when they do, and lives until it is killed.
func own(what string) int {
	var o owning
	err := json.Unmarshal([]byte(what), &o)
	ctx := context.Background()
	g := o.gateway(0, func() {})
	for _, id := range sessions {
		var s *core.Session
		if err == nil {
			s, err = g.Create(ctx, core.Meta{Principal: core.Local, ID: id, Cwd: o.Dir})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		at := s.Attach(core.Client{Principal: core.Local})
		r := at.Read(core.Pos{})
		_, err = at.Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: "say one\nplan one\nignore-eof\nwait"}}})
		for said := false; err == nil && !said; {
			var list []core.Record
			list, err = r.Next(ctx)
			said = slices.ContainsFunc(list, func(rec core.Record) bool { _, ok := rec.Event.(core.PlanChanged); return ok }) // which is stored
		}
	}
	fmt.Println("ready")
	select {}
}

// takeover is a session whose owner is about to be killed.
type takeover struct {
	t      *testing.T
	what   owning
	rec    record
	owner  *exec.Cmd
	guards []int

	mu     sync.Mutex // guards the fields below
	starts int        // of the successor's agents
	alive  []int      // agents of the owner that lived then
}

func newTakeover(t *testing.T, shared bool) *takeover {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	k := &takeover{t: t, rec: newRecord(t)}
	k.what = owning{
		Program: path, Home: t.TempDir(), Dir: t.TempDir(), Shared: shared,
		Agent: agenttest.Options{Dir: t.TempDir(), Load: true, Record: k.rec.path},
	}
	text, err := json.Marshal(k.what)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k.owner = exec.Command(self)
	k.owner.Env = append(os.Environ(), ownerVar+"="+string(text))
	k.owner.Stderr = os.Stderr
	out, err := k.owner.StdoutPipe()
	if err == nil {
		err = k.owner.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		k.signal(syscall.SIGCONT)
		_ = k.owner.Process.Kill()
		_ = k.owner.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the owner says %q, %v", line, err)
	}
	k.guards = childtest.Guards(t, k.owner.Process.Pid)
	return k
}

// signal sends a signal to the guards of the owner's programs.
func (k *takeover) signal(sig syscall.Signal) {
	for _, pid := range k.guards {
		_ = syscall.Kill(pid, sig)
	}
}

// next opens the first session in the successor, whose agent waits for so long for the owner's.
func (k *takeover) next(wait time.Duration) *chat {
	k.t.Helper()
	old := k.rec.pids()
	if want := map[bool]int{true: 1, false: len(sessions)}[k.what.Shared]; len(old) != want {
		k.t.Errorf("the owner has %d agents, want %d", len(old), want)
	}
	g := k.what.gateway(wait, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.starts++
		for _, pid := range old {
			if childtest.Running(pid) && (k.what.Shared || pid == old[0]) {
				k.alive = append(k.alive, pid)
			}
		}
	})
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	k.t.Cleanup(func() {
		cancel()
		if err := g.Close(context.Background()); err != nil {
			k.t.Error("close:", err)
		}
		if left, err := filepath.Glob(filepath.Join(k.what.Home, "locks", "*")); len(left) > 1 || err != nil { // that of the other session, which nobody has continued
			k.t.Errorf("locks are left: %v, %v", left, err)
		}
	})
	s, err := g.Open(ctx, core.Local, sessions[0])
	if err != nil {
		k.t.Fatal(err)
	}
	return (&room{t: k.t, gateway: g, ctx: ctx}).join(s)
}

// begun counts the starts of the successor's agents. None may begin while one of the owner's lives.
func (k *takeover) begun() int {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.alive) > 0 {
		k.t.Errorf("the owner's agents %v lived when the next one was started", k.alive)
	}
	return k.starts
}

// However quickly another process continues the session of one that was killed, it starts an agent only when the
// old one is gone, and continues the agent's session.
func TestNoTwoAgentsForASessionWhoseOwnerIsKilled(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for _, slow := range []bool{false, false, true} {
			t.Run(fmt.Sprintf("shared %v, slow %v", shared, slow), func(t *testing.T) {
				k := newTakeover(t, shared)
				if slow { // its guard comes to nothing before it is resumed
					k.signal(syscall.SIGSTOP)
				}
				c := k.next(0)
				if err := k.owner.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = k.owner.Wait()
				id := c.prompt("say two")
				if slow {
					enough := time.NewTimer(300 * time.Millisecond)
					defer enough.Stop()
					<-enough.C
					if n := k.begun(); n != 0 {
						t.Errorf("%d agents were started while the old one lived", n)
					}
					k.signal(syscall.SIGCONT)
				}
				if end := c.ended(id); end.Stop != core.StopEnd {
					t.Errorf("%+v", end)
				}
				if n := k.begun(); n != 1 {
					t.Errorf("%d agents were started, want 1", n)
				}
				if got := c.whole(); got != "one\ntwo\n" {
					t.Errorf("the log has %q", got)
				}
				if n := k.rec.count("session/load"); n != 1 {
					t.Errorf("%d sessions were loaded", n)
				}
			})
		}
	}
}

// An agent that does not go away makes the next turn fail with the reason; another turn works once it has gone.
func TestAnAgentThatOutlivesItsOwnerIsWaitedForAWhile(t *testing.T) {
	k := newTakeover(t, false)
	k.signal(syscall.SIGSTOP)
	c := k.next(50 * time.Millisecond)
	if err := k.owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = k.owner.Wait()
	if _, end := c.say("say two"); end.Stop != core.StopError || !strings.Contains(end.Err, "still runs after 50ms") || k.begun() != 0 {
		t.Errorf("%+v; %d agents were started", end, k.begun())
	}
	k.signal(syscall.SIGCONT)
	childtest.Soon(t, "the guards have ended", func() bool { return !slices.ContainsFunc(k.guards, childtest.Running) })
	c.says("say two", "two\n")
	if n := k.begun(); n != 1 {
		t.Errorf("%d agents were started, want 1", n)
	}
}

// released is a store that calls back when a session's claim is about to be given back.
type released struct {
	core.Store
	call func()
}

func (s released) Create(ctx context.Context, m core.Meta) (core.Journal, error) {
	j, err := s.Store.Create(ctx, m)
	return releasing{j, s.call}, err
}

type releasing struct {
	core.Journal
	call func()
}

func (j releasing) Release() error {
	j.call()
	return j.Journal.Release()
}

// A session's claim is given back when nothing of its agent is left, whether the session ends or the gateway. A
// program that other sessions still use closes the session before.
func TestClaimsAreGivenBackBehindTheAgents(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared %v", shared), func(t *testing.T) {
			path, err := program()
			if err != nil {
				t.Fatal(err)
			}
			rec, odd := newRecord(t), childtest.OddSleep()
			t.Cleanup(func() { childtest.Wake(t, odd) })
			a := scripted(t, "scripted", agenttest.Options{Close: true, Record: rec.path}, func(o *agent.Options) {
				o.Shared = shared
				find := o.Program
				o.Program = func(ctx context.Context, h core.Host) (agent.Program, error) {
					p, err := find(ctx, h)
					p.Path, p.Args = "sh", []string{"-c", `sleep "$1" & exec "$0"`, path, odd}
					return p, err
				}
			})
			var mu sync.Mutex
			var alive, closed []int // when a claim was given back
			r := newRoom(t, []core.Agent{a})
			r.gateway = core.New(core.Config{
				Store: released{jsonl.New(t.TempDir()), func() {
					mu.Lock()
					defer mu.Unlock()
					alive, closed = append(alive, len(childtest.Asleep(t, odd))), append(closed, rec.count("session/close"))
				}},
				Node: "test", Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return r.profile, nil }),
			})
			one, two := r.begin(""), r.begin("")
			one.says("say one", "one\n")
			two.says("say two", "two\n")
			agents := map[bool]int{true: 1, false: 2}[shared]
			childtest.Soon(t, "all of it runs", func() bool { return len(childtest.Asleep(t, odd)) == agents })
			one.at.Leave()
			if err := r.gateway.Close(r.ctx); err != nil {
				t.Error(err)
			}
			wantAlive, wantClosed := []int{1, 0}, []int{0, 0}
			if shared {
				wantClosed = []int{1, 2}
			}
			if !slices.Equal(alive, wantAlive) || !slices.Equal(closed, wantClosed) {
				t.Errorf("agents that lived when claims were given back: %v, want %v; sessions that they had closed: %v, want %v", alive, wantAlive, closed, wantClosed)
			}
		})
	}
}
