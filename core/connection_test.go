package core_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/delegate"
	"dragoman/core/inference"
)

// layered is the profiles of one connection.
type layered struct {
	profile *core.Profile
	before  []core.SessionID // what was about to run a turn
}

func (l *layered) Profile(context.Context, []string) (*core.Profile, error) { return l.profile, nil }

func (l *layered) Rules(context.Context, []string) (*core.Profile, error) { return l.profile, nil }

func (l *layered) Before(_ context.Context, m core.Meta, _ core.Host) {
	l.before = append(l.before, m.ID)
}

// crossing is a session that two connections share, each of which has profiles of its own.
type crossing struct {
	g      *core.Gateway
	s      *core.Session
	shared *peddler // a toolbox of both
	own    map[string]*peddler
	layers map[string]*layered
	lines  []string
}

// newCrossing makes one. run is what the turns of either do; its name is what they run under.
func newCrossing(t *testing.T, run func(ctx context.Context, name string, turn *core.Turn) (core.StopReason, error), tools ...core.Tool) *crossing {
	t.Helper()
	c := &crossing{shared: &peddler{}, own: map[string]*peddler{}, layers: map[string]*layered{}}
	for name, effect := range map[string]core.Effect{"one": core.Allow, "two": core.Deny, "nobody": core.Deny} {
		backend := &coretest.Backend{
			Run:     func(ctx context.Context, turn *core.Turn) (core.StopReason, error) { return run(ctx, name, turn) },
			CapsNow: core.BackendCaps{Steer: true},
		}
		c.own[name] = &peddler{}
		c.layers[name] = &layered{profile: &core.Profile{
			Agents: []core.Agent{{Name: "code", Rev: name, Backend: backend}}, Subagents: []core.Agent{{Name: "helper", Rev: name, Backend: backend}},
			Toolboxes: []core.Toolbox{c.shared, c.own[name], coretest.Tools(tools)},
			Policy:    coretest.Always(core.Verdict{Effect: effect, Why: "the rule of " + name}),
		}}
	}
	nobody := c.layers["nobody"]
	c.g = core.New(core.Config{Store: coretest.NewMemory(), Profiles: nobody})
	var err error
	if c.s, err = c.g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *crossing) attach(name string) *core.Attachment {
	return c.s.Attach(core.Client{
		Name: name, Profiles: c.layers[name], Servers: []core.ServerSpec{{Name: "of-" + name, Command: "x"}},
	})
}

// A turn runs with the profile of the connection that has prompted it: its agent, its rules at
// each call, the servers that it brings along, and its consent. What both have stays open.
func TestTurnsRunUnderTheirOwnConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *crossing
		c = newCrossing(t, func(ctx context.Context, name string, turn *core.Turn) (core.StopReason, error) {
			specs, err := turn.Tools(ctx)
			line := name + ":"
			for _, s := range specs {
				line += " " + s.Server
			}
			res, err2 := turn.Invoke(ctx, core.Call{ID: turn.NewCall(), Server: core.Native, Tool: touch.Is.Name})
			c.lines = append(c.lines, line+" "+res.Blocks[0].(core.Text).Text)
			if err == nil {
				err = err2
			}
			return core.StopEnd, err
		}, touch)
		one, two := c.attach("one"), c.attach("two")
		for _, a := range []*core.Attachment{one, two, one} {
			prompt(t, a, say("go"))
			synctest.Wait()
		}
		two.Close()
		plain := c.s.Attach(core.Client{Name: "plain"})
		prompt(t, plain, say("go"))
		synctest.Wait()
		wantLines(
			t, c.lines, "one: of-one native done", "two: of-two native the rule of two", "one: of-one native done",
			"nobody: native the rule of nobody",
		)
		for name, want := range map[string]int{"one": 2, "two": 1, "nobody": 1} {
			if got := len(c.layers[name].before); got != want {
				t.Errorf("%s was asked %d times before a turn, want %d", name, got, want)
			}
		}
		closeGateway(t, c.g)
		if c.shared.opened.Load() != 1 || c.own["one"].opened.Load() != 2 || c.own["one"].closed.Load() != 2 {
			t.Errorf("the shared toolbox was opened %d times, that of one %d times and closed %d times", c.shared.opened.Load(), c.own["one"].opened.Load(), c.own["one"].closed.Load())
		}
	})
}

// What another connection says while a turn runs becomes a turn under its own rules.
func TestAnotherConnectionSteersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *crossing
		let := make(chan struct{})
		c = newCrossing(t, func(_ context.Context, name string, turn *core.Turn) (core.StopReason, error) {
			c.lines = append(c.lines, name+" runs "+turn.Prompt()[0].(core.Text).Text)
			<-let
			for _, st := range turn.Steered() {
				c.lines = append(c.lines, name+" is told "+st.Prompt[0].(core.Text).Text)
			}
			return core.StopEnd, nil
		})
		one, two, again := c.attach("one"), c.attach("two"), c.attach("one")
		prompt(t, one, say("go"))
		synctest.Wait()
		if two.Steer([]core.Block{core.Text{Text: "no"}}) {
			t.Error("a turn took what another connection said")
		}
		for text, a := range map[string]*core.Attachment{"more of one": again, "more of two": two} {
			p := say(text)
			p.Busy = core.BusySteer
			if _, err := a.Prompt(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		close(let)
		synctest.Wait()
		wantLines(t, c.lines, "one runs go", "one is told more of one", "two runs more of two")
		closeGateway(t, c.g)
	})
}

// A task runs with the profile of the connection whose turn has handed it over, and what a session
// does between two turns with that of the last one.
func TestTasksRunUnderTheConnectionThatHandedThemOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *crossing
		var host core.ToolHost
		c = newCrossing(t, func(ctx context.Context, name string, turn *core.Turn) (core.StopReason, error) {
			c.lines = append(c.lines, strings.TrimSpace(name+" "+string(turn.Meta().Parent)))
			if turn.Meta().Parent != "" {
				return core.StopEnd, nil
			}
			_, err := delegate.Run(ctx, host, delegate.Task{Agent: "helper", Prompt: []core.Block{core.Text{Text: "help"}}})
			return core.StopEnd, err
		})
		c.shared.hosts = func(h core.ToolHost) {
			if h.Meta().Parent == "" {
				host = h
			}
		}
		for name, layer := range c.layers {
			layer.profile.Models = inference.Models{Find: func(context.Context, string) (inference.Model, error) {
				c.lines = append(c.lines, "the model of "+name)
				return nil, nil
			}}
		}
		for _, name := range []string{"two", "one"} {
			a := c.attach(name)
			prompt(t, a, say("go"))
			synctest.Wait()
			a.Close()
			if _, err := inference.Chosen(t.Context(), host); err != nil {
				t.Error(err)
			}
		}
		if want := []string{"two", "two s", "the model of two", "one", "one s", "the model of one"}; !slices.Equal(c.lines, want) {
			t.Errorf("ran %q, want %q", c.lines, want)
		}
		closeGateway(t, c.g)
	})
}
