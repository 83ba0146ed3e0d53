package core_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// stuck is a gateway whose store does not come to an end with syncing, until open is
// closed.
func stuck(t *testing.T, run func(context.Context, *core.Turn) (core.StopReason, error)) (g *core.Gateway, store *coretest.Memory, a *core.Attachment, open chan struct{}) {
	t.Helper()
	var begun atomic.Bool
	store, open = coretest.NewMemory(), make(chan struct{})
	store.Before = func(_ context.Context, op string, _ core.SessionID) error {
		if op == "sync" && begun.Load() {
			<-open
		}
		return nil
	}
	prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: run}}}, Policy: coretest.Always(core.Verdict{Effect: core.Allow})}
	g = core.New(core.Config{Store: store, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a = s.Attach(asking)
	if err := a.Rename(t.Context(), "stuck"); err != nil {
		t.Fatal(err)
	}
	begun.Store(true)
	return g, store, a, open
}

// ends lists how the turns of a stored session ended.
func ends(t *testing.T, store core.Store) (list []core.StopReason) {
	t.Helper()
	j, err := store.Open(t.Context(), core.Local, "s")
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range j.Read(t.Context(), core.Pos{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := r.Event.(core.TurnEnded); ok {
			list = append(list, e.Stop)
		}
	}
	return list
}

// A turn that was admitted and waits for the disk ends like any other when the
// session is closed: its log has an end.
func TestCloseBeforeATurnRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := false
		g, store, a, open := stuck(t, func(context.Context, *core.Turn) (core.StopReason, error) { ran = true; return core.StopEnd, nil })
		prompted := make(chan error, 1)
		go func() {
			_, err := a.Prompt(t.Context(), say("go"))
			prompted <- err
		}()
		synctest.Wait()
		if st := a.State(); st.Turn == "" {
			t.Fatal("the turn was not admitted")
		}
		closed := make(chan error, 1)
		go func() { closed <- g.Close(t.Context()) }()
		synctest.Wait()
		if _, err := a.Prompt(t.Context(), say("more")); !errors.Is(err, core.ErrClosed) {
			t.Errorf("a prompt while the session is being closed: %v", err)
		}
		close(open)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		<-prompted
		if got := ends(t, store); len(got) != 1 || got[0] != core.StopError || ran {
			t.Errorf("the turn ended as %v, it ran: %t", got, ran)
		}
	})
}

// A close that was given up has closed nothing for good: the next one does.
func TestCloseAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stubborn := make(chan struct{})
		g, store, a, open := stuck(t, func(context.Context, *core.Turn) (core.StopReason, error) { <-stubborn; return core.StopEnd, nil })
		close(open)
		prompt(t, a, say("go"))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		close(stubborn)
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := ends(t, store); len(got) != 1 {
			t.Errorf("the turn ended as %v", got)
		}
		if _, err := a.Prompt(t.Context(), say("more")); !errors.Is(err, core.ErrClosed) {
			t.Errorf("a prompt behind the end: %v", err)
		}
	})
}

// A client that is done with a session gives it back at once, unless another one is
// attached or a turn goes on; one that only leaves does not.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		var released atomic.Int32
		store.Before = func(_ context.Context, op string, _ core.SessionID) error {
			if op == "release" {
				released.Add(1)
			}
			return nil
		}
		finish := make(chan struct{})
		run := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			if turn.Prompt()[0].(core.Text).Text == "wait" {
				<-finish
			}
			return core.StopEnd, nil
		}
		prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: run}}}, Policy: coretest.Always(core.Verdict{Effect: core.Allow})}
		g := core.New(core.Config{Store: store, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
		defer closeGateway(t, g)
		attach := func() *core.Attachment {
			s, err := g.Open(t.Context(), core.Local, "s")
			if errors.Is(err, core.ErrNotFound) {
				s, err = g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
			}
			if err != nil {
				t.Fatal(err)
			}
			return s.Attach(asking)
		}
		want := func(n int32, what string) {
			t.Helper()
			synctest.Wait()
			if got := released.Load(); got != n {
				t.Errorf("%s: released %d times, want %d", what, got, n)
			}
		}
		a := attach()
		prompt(t, a, say("hello"))
		b := attach()
		a.Leave()
		want(0, "another one is attached")
		b.Leave()
		want(1, "the last one has left")

		a = attach()
		prompt(t, a, say("wait"))
		synctest.Wait()
		a.Leave()
		want(1, "a turn goes on")
		close(finish)
		want(2, "the turn has ended")

		a, finish = attach(), make(chan struct{})
		prompt(t, a, say("wait"))
		a.Leave() // while the turn goes on
		a = attach()
		close(finish)
		synctest.Wait()
		a.Close()
		want(2, "the client has come back, and may do so again")
	})
}

// slowTools is a toolbox, and its own toolset, whose programs take their time to end.
type slowTools struct{ name string }

func (slowTools) Tools(context.Context) ([]core.Tool, error) { return nil, nil }

func (slowTools) Changed() <-chan struct{} { return nil }

func (s slowTools) Open(context.Context, core.ToolHost) (core.Toolset, error) { return s, nil }

func (slowTools) Close() error {
	<-time.After(2 * time.Second)
	return nil
}

// The resources of a session end side by side: a client that has closed a session waits for the
// slowest of them, not for the sum.
func TestLeaveEndsToolsetsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(context.Context, *core.Turn) (core.StopReason, error) { return core.StopEnd, nil }
		prof := &core.Profile{
			Agents:    []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: run}}},
			Policy:    coretest.Always(core.Verdict{Effect: core.Allow}),
			Toolboxes: []core.Toolbox{slowTools{name: "jobs"}, slowTools{name: "servers"}},
		}
		g := core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
		defer closeGateway(t, g)
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(asking)
		prompt(t, a, say("hello"))
		synctest.Wait()
		start := time.Now()
		a.Leave()
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("the session was given back after %v, want 2s", took)
		}
	})
}

// A reader that has not come to the end of a session when that closes is given the rest
// before it is told: whoever waits for a turn sees how it ended.
func TestCloseLeavesReadersTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: func(ctx context.Context, _ *core.Turn) (core.StopReason, error) {
			<-ctx.Done()
			return core.StopEnd, nil
		}}}}, Policy: coretest.Always(core.Verdict{Effect: core.Allow})}
		g := core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(asking)
		r := a.Read(core.Pos{})
		defer r.Close()
		if _, err := a.Prompt(t.Context(), say("go")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		ended := false
		for {
			recs, err := r.Next(t.Context())
			if errors.Is(err, core.ErrClosed) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range recs {
				_, is := rec.Event.(core.TurnEnded)
				ended = ended || is
			}
		}
		if !ended {
			t.Error("the reader was closed before it had the end of the turn")
		}
	})
}
