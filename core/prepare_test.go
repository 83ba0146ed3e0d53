package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// late is a toolset of a server that has started when somebody has waited for it, or never.
type late struct {
	changed chan struct{}
	never   bool
	started bool
}

func (l *late) Open(context.Context, core.ToolHost) (core.Toolset, error) { return l, nil }
func (l *late) Changed() <-chan struct{}                                  { return l.changed }
func (l *late) Close() error                                              { return nil }
func (l *late) Starting() []string                                        { return []string{"late"} }

func (l *late) Tools(context.Context) (list []core.Tool, err error) {
	if l.started {
		list = append(list, coretest.Tool{Is: core.Spec{Server: "late", Name: "tide"}})
	}
	return list, nil
}

func (l *late) Require(context.Context) error { return nil }

func (l *late) Await(ctx context.Context, _ bool) {
	if l.never {
		<-ctx.Done()
		return
	}
	l.started = true
	l.changed <- struct{}{}
}

// An external agent is opened with the tools of servers that were starting, because Codex lists
// them only once; one that does not start delays it for a moment.
func TestPrepareWaitsForServers(t *testing.T) {
	for _, never := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { prepareWaits(t, never) })
	}
}

func prepareWaits(t *testing.T, never bool) {
	t.Helper()
	var got []core.Spec
	opened := false
	b := &coretest.Backend{Begins: func(ctx context.Context, bind core.Binding) error {
		got, opened = bind.Tools, true
		return bind.Host.Publish(ctx, offer("ask"))
	}}
	prof := &core.Profile{
		Agents:    []core.Agent{{Name: "claude", External: true, Backend: b}},
		Toolboxes: []core.Toolbox{&late{changed: make(chan struct{}, 1), never: never}},
	}
	g := core.New(core.Config{
		Store: coretest.NewMemory(), Node: "test",
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
	})
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Prepare(t.Context(), s.Attach(core.Client{Name: "tester"})); err != nil || !opened {
		t.Fatalf("never %v: opened %v, %v", never, opened, err)
	}
	if found := len(got) == 1 && got[0].Name == "tide"; found == never {
		t.Errorf("never %v: the agent is given %v", never, got)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// prepared makes a gateway with agents, and a session with a
// client.
func prepared(t *testing.T, agents ...core.Agent) (*core.Gateway, *core.Attachment) {
	t.Helper()
	g := guests(coretest.NewMemory(), agents...)
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	return g, s.Attach(core.Client{Name: "tester"})
}

// slow is an external agent that is opened when it is told to, and offers its options then.
func slow() (b *coretest.Backend, open chan error) {
	open = make(chan error)
	return &coretest.Backend{Run: echo, Begins: func(ctx context.Context, bind core.Binding) error {
		select {
		case err := <-open:
			if err != nil {
				return err
			}
			return bind.Host.Publish(ctx, offer("ask"))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}, open
}

// start prepares a session, and returns the result when it is there.
func start(ctx context.Context, g *core.Gateway, a *core.Attachment) <-chan error {
	done := make(chan error, 1)
	go func() { done <- g.Prepare(ctx, a) }()
	synctest.Wait()
	return done
}

// Whoever prepares a session waits until its agent has answered; it is opened once, and not for a client
// that only reads.
func TestPrepareTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, open := slow()
		g, a := prepared(t, core.Agent{Name: "claude", External: true, Backend: b})
		defer closeGateway(t, g)
		if err := <-start(t.Context(), g, a.Attach(core.Client{Role: core.Observe})); err != nil {
			t.Fatal(err)
		}
		first, second := start(t.Context(), g, a), start(t.Context(), g, a.Attach(core.Client{Name: "another"}))
		select {
		case err := <-second:
			t.Fatalf("the second one did not wait: %v", err)
		default:
		}
		open <- nil
		for _, done := range []<-chan error{first, second, start(t.Context(), g, a)} {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := len(b.Bindings()); n != 1 || a.State().Offered.Choice("mode") == nil {
			t.Errorf("it was opened %d times, and offers %+v", n, a.State().Offered)
		}
		prompt(t, a, say("hello"))
		synctest.Wait()
		if n := len(b.Bindings()); n != 1 {
			t.Errorf("the prompt opened it again: %d", n)
		}
	})
}

// A prompt that comes in the middle waits for the same conversation; while its turn runs nothing is
// prepared.
func TestPromptWhileASessionIsPrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, open := slow()
		g, a := prepared(t, core.Agent{Name: "claude", External: true, Backend: b})
		defer closeGateway(t, g)
		done := start(t.Context(), g, a)
		r := a.Read(a.Head())
		defer r.Close()
		id := prompt(t, a, say("hello"))
		if err := <-start(t.Context(), g, a); err != nil {
			t.Fatal(err)
		}
		open <- nil
		if err := <-done; err != nil {
			t.Error(err)
		}
		wantLines(t, changes(follow(t, r, id)), "TextDelta hello", "TurnEnded end_turn")
		if n := len(b.Bindings()); n != 1 {
			t.Errorf("it was opened %d times", n)
		}
	})
}

// The end of the session, or of the request, ends the start of the agent.
func TestPrepareEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(t *testing.T, g *core.Gateway, leave context.CancelCauseFunc)
		want error
	}{
		"the gateway's end":     {func(t *testing.T, g *core.Gateway, _ context.CancelCauseFunc) { closeGateway(t, g) }, core.ErrShutdown},
		"the request's":         {func(_ *testing.T, _ *core.Gateway, leave context.CancelCauseFunc) { leave(core.ErrClientGone) }, core.ErrClientGone},
		"the session's, for it": {func(t *testing.T, g *core.Gateway, _ context.CancelCauseFunc) { remove(t, g) }, core.ErrCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _ := slow()
				g, a := prepared(t, core.Agent{Name: "claude", External: true, Backend: b})
				ctx, leave := context.WithCancelCause(t.Context())
				defer leave(nil)
				done := start(ctx, g, a)
				test.end(t, g, leave)
				if err := <-done; !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if n := len(b.Bindings()); n != 0 {
					t.Errorf("it was opened %d times", n)
				}
				closeGateway(t, g)
			})
		})
	}
}

func remove(t *testing.T, g *core.Gateway) {
	t.Helper()
	if err := g.Delete(t.Context(), core.Local, "s", core.Deletion{All: true}); err != nil {
		t.Error(err)
	}
}

// An agent that does not start, or panics, is an error; the next attempt starts it, and a prompt in the
// meantime has its own.
func TestPrepareFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, open := slow()
		g, a := prepared(t, core.Agent{Name: "claude", External: true, Backend: b})
		defer closeGateway(t, g)
		done := start(t.Context(), g, a)
		open <- errors.New("no such program")
		if err := <-done; err == nil || err.Error() != "agent claude: no such program" {
			t.Errorf("got %v", err)
		}
		begins := b.Begins
		b.Begins = func(context.Context, core.Binding) error { panic("nil map") }
		if err := <-start(t.Context(), g, a); err == nil || err.Error() != "agent claude: internal error: nil map" {
			t.Errorf("got %v", err)
		}
		b.Begins = begins
		done = start(t.Context(), g, a)
		open <- nil
		if err := <-done; err != nil || a.State().Offered.Agent != "claude" {
			t.Errorf("%v; it offers %+v", err, a.State().Offered)
		}
	})
}

// Only an external agent is opened before the first prompt: also where the session has had another one.
func TestWhatIsPrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := &coretest.Backend{Run: echo}
		b := &coretest.Backend{Run: echo, Begins: func(ctx context.Context, bind core.Binding) error { return bind.Host.Publish(ctx, offer("ask")) }}
		g, a := prepared(t, core.Agent{Name: "code", Backend: own}, core.Agent{Name: "claude", External: true, Backend: b})
		defer closeGateway(t, g)
		if err := <-start(t.Context(), g, a); err != nil || len(own.Bindings()) != 0 {
			t.Errorf("our own agent: %v, opened %d times", err, len(own.Bindings()))
		}
		prompt(t, a, say("hello"))
		synctest.Wait()
		for _, agent := range []string{"claude", "gone"} {
			if err := a.Set(t.Context(), core.Settings{Agent: agent}); err != nil {
				t.Fatal(err)
			}
			if err := <-start(t.Context(), g, a); err != nil {
				t.Errorf("%s: %v", agent, err)
			}
		}
		if n := len(b.Bindings()); n != 1 || own.Closed() != 1 || a.State().Offered.Agent != "claude" {
			t.Errorf("opened %d times, %d others closed; it offers %+v", n, own.Closed(), a.State().Offered)
		}
	})
}
