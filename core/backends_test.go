package core_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// reloaded is a gateway whose configuration changes: one agent, in a revision of now.
type reloaded struct {
	*core.Gateway
	prof atomic.Pointer[core.Profile]
	hold chan struct{} // a prompt "wait" ends when it is closed
}

func reloadable(t *testing.T) *reloaded {
	g := &reloaded{hold: make(chan struct{})}
	g.Gateway = core.New(core.Config{
		Store: coretest.NewMemory(), AskMark: func() string { return "" },
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return g.prof.Load(), nil }),
	})
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// load puts a revision of the agent in the place of the one before, and returns its back end.
func (g *reloaded) load(rev string, caps core.BackendCaps) *coretest.Backend {
	b := &coretest.Backend{CapsNow: caps, Run: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		if said, ok := turn.Prompt()[0].(core.Text); ok && said.Text == "wait" {
			<-g.hold
		}
		return core.StopEnd, turn.Emit(ctx, core.Bound{Agent: "code", State: []byte(`"` + rev + `"`)})
	}}
	old := g.prof.Swap(&core.Profile{Agents: []core.Agent{{Name: "code", Rev: rev, Backend: b}}})
	if old != nil {
		g.Retire(old.Agents...)
	}
	return b
}

// session makes a session with one client.
func (g *reloaded) session(t *testing.T, id core.SessionID) *core.Attachment {
	t.Helper()
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: id, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	return s.Attach(core.Client{Name: "tester"})
}

// wantLife compares how many conversations of a back end were opened and closed, and how
// often it was closed itself.
func wantLife(t *testing.T, when string, b *coretest.Backend, opened, closed, ended int) {
	t.Helper()
	synctest.Wait()
	if got := [3]int{len(b.Bindings()), b.Closed(), b.Ended()}; got != [3]int{opened, closed, ended} {
		t.Errorf("%s: %d conversations were opened, %d closed, and the back end %d times; want %d, %d, %d", when, got[0], got[1], got[2], opened, closed, ended)
	}
}

var owns = core.BackendCaps{OwnsHistory: true}

// A reload that does not concern an agent makes a profile of the same revision: its
// conversations go on, whatever Backend value the profile holds.
func TestAReloadThatDoesNotConcernAnAgentClosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := reloadable(t)
		first := g.load("1", owns)
		a, b := g.session(t, "a"), g.session(t, "b")
		prompt(t, a, say("hello"))
		prompt(t, b, say("hello"))
		wantLife(t, "two prompts", first, 2, 0, 0)
		same := &coretest.Backend{}
		g.prof.Store(&core.Profile{Agents: []core.Agent{{Name: "code", Rev: "1", Backend: same}}})
		prompt(t, a, say("again"))
		wantLife(t, "a prompt behind the reload", first, 2, 0, 0)
		<-time.After(5 * time.Minute)
		wantLife(t, "at rest", first, 2, 0, 0)
		closeGateway(t, g.Gateway)
		wantLife(t, "behind the gateway's end", first, 2, 2, 1)
		wantLife(t, "the one that nobody used", same, 0, 0, 0)
	})
}

// A revision that is retired is closed once: with its last conversation, which ends where no
// turn runs, and behind the turn where one does.
func TestARetiredBackEndIsClosedBehindItsLastTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := reloadable(t)
		first := g.load("1", owns)
		idle, busy, asleep := g.session(t, "idle"), g.session(t, "busy"), g.session(t, "asleep")
		prompt(t, asleep, say("hello"))
		<-time.After(5 * time.Minute)
		prompt(t, idle, say("hello"))
		prompt(t, busy, say("wait"))
		queued := prompt(t, busy, say("queued"))
		wantLife(t, "before the reload", first, 3, 0, 0)
		second := g.load("2", owns)
		wantLife(t, "while a turn runs", first, 3, 2, 0)
		close(g.hold)
		wantLife(t, "behind the turn", first, 3, 3, 1)
		r := busy.Read(core.Pos{})
		defer r.Close()
		follow(t, r, queued)
		wantLife(t, "the next turn's", second, 1, 0, 0)
		if state := string(second.Bindings()[0].State); state != `"1"` {
			t.Errorf("the next revision was handed the state %s", state)
		}
		g.load("3", owns)
		wantLife(t, "a second reload", second, 1, 1, 1)
		wantLife(t, "a second reload", first, 3, 3, 1)
	})
}

// A revision that was never used, or whose conversations are all closed, is closed at most
// once, by the reload, and not again by the gateway's end.
func TestARetiredBackEndWithoutConversationsIsClosedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := reloadable(t)
		first := g.load("1", core.BackendCaps{})
		a := g.session(t, "a")
		prompt(t, a, say("hello"))
		<-time.After(2 * time.Minute)
		wantLife(t, "at rest", first, 1, 1, 0)
		g.Retire(core.Agent{Name: "other", Rev: "1"}, core.Agent{Name: "code", Rev: "0"})
		wantLife(t, "others are retired", first, 1, 1, 0)
		unused := g.load("2", core.BackendCaps{})
		wantLife(t, "retired", first, 1, 1, 1)
		last := g.load("3", core.BackendCaps{})
		prompt(t, a, say("again"))
		wantLife(t, "the last one", last, 1, 0, 0)
		closeGateway(t, g.Gateway)
		closeGateway(t, g.Gateway)
		wantLife(t, "at the end", first, 1, 1, 1)
		wantLife(t, "at the end", unused, 0, 0, 0)
		wantLife(t, "at the end", last, 1, 1, 1)
	})
}

// A turn that has looked at the profile right before its agent was retired looks again: a
// retired revision is never opened.
func TestATurnLooksAgainWhenItsAgentWasRetired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := reloadable(t)
		first := g.load("1", owns)
		var second *coretest.Backend
		g.prof.Load().Toolboxes = []core.Toolbox{opened(func() { second = g.load("2", owns) })}
		a := g.session(t, "a")
		prompt(t, a, say("hello"))
		wantLife(t, "the retired one", first, 0, 0, 0)
		wantLife(t, "the new one", second, 1, 0, 0)
		if last := a.State().Bound; string(last.State) != `"2"` {
			t.Errorf("the turn was answered by %s", last.State)
		}
	})
}

// opened is a toolbox that does something when it is opened.
type opened func()

func (o opened) Open(context.Context, core.ToolHost) (core.Toolset, error) {
	o()
	return coretest.Tools{}, nil
}

// A back end that does not end its last turn in time is closed behind it, and the gateway's
// second Close waits for that.
func TestABackEndIsNotClosedUnderARunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := reloadable(t)
		b := g.load("1", owns)
		prompt(t, g.session(t, "a"), say("wait"))
		synctest.Wait()
		hurry, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Close(hurry); err == nil {
			t.Error("a gateway closed while a turn runs")
		}
		wantLife(t, "the turn runs on", b, 1, 0, 0)
		close(g.hold)
		closeGateway(t, g.Gateway)
		wantLife(t, "behind the turn", b, 1, 1, 1)
	})
}
