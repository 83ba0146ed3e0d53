package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/acp"
	proto "dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/control"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// external is an external agent that follows the prompt, as act is one of ours.
type external struct {
	*coretest.Backend
	starts  int
	refuses string // an error of its start: "login" or another
	has     core.Offered
}

func newExternal(choices ...core.Choice) *external {
	x := &external{has: core.Offered{Agent: "claude", Choices: choices}}
	x.Backend = &coretest.Backend{
		CapsNow: core.BackendCaps{Images: true, Resources: true},
		Begins: func(ctx context.Context, b core.Binding) error {
			x.starts++
			switch x.refuses {
			case "":
				return b.Host.Publish(ctx, x.has)
			case "hang":
				<-ctx.Done()
				return context.Cause(ctx)
			case "login":
				return &core.SignInError{Agent: "claude", Text: "Invalid API key · Please run /login"}
			}
			return errors.New(x.refuses)
		},
		Chooses: func(ctx context.Context, b core.Binding, id, value string) error {
			if value == "bypass" {
				return errors.New("bypassPermissions cannot be used as root")
			}
			return b.Host.Publish(ctx, x.with(id, value))
		},
		Run: x.run,
	}
	return x
}

// with changes the value of an option.
func (x *external) with(id, value string) core.Offered {
	list := append([]core.Choice(nil), x.has.Choices...)
	for i := range list {
		if list[i].ID == id {
			list[i].Value = value
		}
	}
	x.has.Choices = list
	return x.has
}

// run follows a prompt: "raw UPDATE", "say TEXT", "permit", "leave" (the mode), "learn COMMAND", "login"
// and "kid ANNOUNCEMENT", a sub-agent.
func (x *external) run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	text, _ := t.Prompt()[0].(core.Text)
	verb, rest, _ := strings.Cut(text.Text, " ")
	bindings := x.Bindings()
	h := bindings[len(bindings)-1].Host
	switch verb {
	case "raw":
		return core.StopEnd, t.Emit(ctx, core.Foreign{Protocol: proto.Protocol, Raw: json.RawMessage(rest), Text: "an update of claude"})
	case "learn":
		x.has.Commands = append(x.has.Commands[:1:1], core.Command{Name: rest})
		return core.StopEnd, t.Emit(ctx, x.has)
	case "kid":
		return core.StopEnd, x.kid(ctx, t, h, rest)
	case "leave":
		return core.StopEnd, t.Emit(ctx, x.with("mode", "ask"))
	case "login":
		return "", &core.SignInError{Agent: "claude", Text: "Your login has expired"}
	case "permit":
		c := core.Call{ID: t.NewCall(), Turn: t.ID(), Server: "claude", Tool: "Bash", Title: "touch made", Kind: core.KindExecute, State: core.Proposed, Args: []byte(`{"command":"touch made"}`)}
		if err := t.Emit(ctx, core.CallChanged{Call: c}); err != nil {
			return "", err
		}
		r, err := h.Authorize(ctx, core.Request{Call: c, Spec: core.Spec{Server: core.Native, Name: "write_file", Kind: core.KindExecute}, Options: []core.Option{
			{ID: "allow_always", Label: "Always Allow Bash(touch *)", Decision: core.AllowSession},
			{ID: "allow", Label: "Allow", Decision: core.AllowOnce},
			{ID: "edit", Label: "Edit the command"},
			{ID: "reject", Label: "Reject", Decision: core.RejectOnce},
			{ID: "never", Label: "Never", Decision: core.RejectAlways},
		}})
		if err != nil {
			return "", err
		}
		if c.State = core.Succeeded; r.Decision.Allows() {
			if err := t.Emit(ctx, core.CallChanged{Call: c}); err != nil {
				return "", err
			}
		}
		rest = "answered: " + r.Option + " " + string(r.Decision)
	}
	return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: rest})
}

// kid shows a sub-agent that works without a prompt.
func (x *external) kid(ctx context.Context, t *core.Turn, h core.Host, announcement string) error {
	host, held, err := h.Sub(ctx, "Kid")
	if err != nil {
		return err
	}
	defer held.Leave()
	c := core.Call{ID: t.NewCall(), Turn: t.ID(), Server: "claude", Tool: "subagent", Title: "Kid", Kind: core.KindThink, State: core.Proposed, Args: []byte(announcement), Child: held.Meta().ID}
	runs := c
	runs.State = core.Running
	if err := errors.Join(t.Emit(ctx, core.CallChanged{Call: c}), t.Emit(ctx, core.CallChanged{Call: runs})); err != nil {
		return err
	}
	works, err := host.Begin(ctx, core.Origin{})
	if err == nil {
		err = works.Emit(ctx, core.TextDelta{Message: works.NewMessage(), Text: "a treasure"})
	}
	runs.State, runs.Content = core.Succeeded, []core.Block{core.Text{Text: "a treasure"}}
	return errors.Join(err, t.Emit(ctx, core.CallChanged{Call: runs}))
}

// logins implements acp.Logins: claude has logins.
type logins struct {
	first  string // claude, if it is the agent of new sessions
	wanted bool
	did    []string
}

func (l *logins) External() (names []string, first string) { return []string{"claude"}, l.first }

func (l *logins) Methods(string) ([]acp.Login, bool, bool) {
	return []acp.Login{
		{ID: "console", Name: "Log in with the Console", Description: "Opens a page"},
		{ID: "setup/cli", Name: "Log in with Claude", Terminal: true},
	}, l.wanted, true
}

func (l *logins) Authenticate(ctx context.Context, agent, method string, show acp.ShowPage) error {
	l.did = append(l.did, agent+" "+method)
	if method == "gone" {
		return acp.ErrNoMethod
	}
	if show != nil && !show(ctx, "Log in with the Console", "https://login.example/x") {
		return &core.SignInError{Agent: agent, Text: "the page was not opened"}
	}
	if method == "broken" {
		return &core.SignInError{Agent: agent, Text: "the page was closed"}
	}
	l.wanted = false
	return nil
}

func (l *logins) Logout(context.Context, string) error {
	l.wanted = true
	return nil
}

func (l *logins) Status(context.Context, string) proto.AuthStatus {
	if l.wanted {
		return proto.AuthStatus{State: proto.Unauthenticated}
	}
	return proto.AuthStatus{State: proto.Authenticated, Accounts: []proto.AuthAccount{{Label: "ann@example.org", Active: true}}}
}

var (
	modeChoice = core.Choice{ID: "mode", Name: "Mode", Category: "mode", Value: "ask", Values: []core.ChoiceValue{
		{ID: "ask", Name: "Always Ask"}, {ID: "plan", Name: "Plan Mode", Description: "Changes nothing"}, {ID: "bypass", Name: "Bypass Permissions"},
	}}
	modelChoice = core.Choice{ID: "model", Name: "Model", Category: "model", Value: "sonnet", Values: []core.ChoiceValue{
		{ID: "sonnet", Name: "Sonnet", Group: "Fast"}, {ID: "opus", Name: "Opus", Group: "Large"}, {ID: "haiku", Name: "Haiku", Group: "Fast"},
	}}
	switchChoice = core.Choice{ID: "fast", Name: "Fast mode", Category: "_speed", Boolean: true, Value: "true"}
	agentChoice  = core.Choice{ID: "agent", Name: "Persona", Value: "a", Values: []core.ChoiceValue{{ID: "a", Name: "A"}, {ID: "b", Name: "B"}}}
)

// Each file is a conversation with an external agent, claude, beside one of ours, code; each part is
// a process. The words of a part's name say what the process has:
// code: our agent is the default; keyed: it has a key; few: claude has no modes and models, but an option that has the
// id of one of ours; login, broken, hang: claude does not start; stays: it is not; wanted: it is known to want a login.
func TestExternalAgents(t *testing.T) {
	coretest.Golden(t, "testdata/external/*.txtar", *updateGolden, func(t *testing.T, name string, ar *txtar.Archive) {
		store := coretest.NewMemory()
		for i, f := range ar.Files {
			has := func(word string) bool { return strings.Contains(f.Name, word) }
			synctest.Test(t, func(t *testing.T) {
				claude := newExternal(modeChoice, modelChoice, switchChoice)
				switch {
				case has("few"):
					claude = newExternal(agentChoice)
				case has("login"):
					claude.refuses = "login"
				case has("hang"):
					claude.refuses = "hang"
				case has("broken"):
					claude.refuses = "exec: claude-agent-acp: not found"
				}
				prof := &core.Profile{
					Agents:    []core.Agent{{Name: "claude", External: true, Backend: claude.Backend}, {Name: "code", Backend: &coretest.Backend{Run: act}}},
					Toolboxes: []core.Toolbox{coretest.Tools{writeFile}}, Policy: asks,
					Models: inference.Models{List: []inference.ModelInfo{{ID: "a/small", Efforts: []string{"low"}}}, Default: "a/small"},
				}
				if has("code") {
					prof.Agents[0], prof.Agents[1] = prof.Agents[1], prof.Agents[0]
				}
				last := 0
				g := core.New(core.Config{
					Store: store, Node: "test", AskMark: func() string { return "" },
					NewID:    func() string { last++; return "s" + string(rune('0'+last)) },
					Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
				})
				l := &logins{wanted: has("wanted")}
				if prof.Agents[0].External {
					l.first = prof.Agents[0].Name
				}
				server := acp.New(acp.Options{Gateway: g, Principal: core.Local, Version: "1.2.3", SignIn: &accounts{is: control.Account{Provider: "cloud", Label: "Cloud", Configured: has("keyed")}}, Logins: l})
				peer, stop := wiretest.Serve(t, wire.Newline, server.Serve)
				got, err := peer.Play(string(f.Data), synctest.Wait)
				if err != nil {
					t.Error(err)
				}
				if name == "subagent" { // the order between sessions is not fixed
					got = bySession(got)
				}
				ar.Files[i].Data = []byte(got)
				stop()
				if err := g.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if has("stays") && claude.starts > 0 {
					t.Errorf("%s: the agent was started", f.Name)
				}
			})
		}
	})
}

// The commands of an external agent are listed beside ours, with whose they are, also after a
// change. Those of an agent that does not run are known from the log.
func TestCommandsOfAnExternalAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claude := newExternal()
		claude.has.Commands = []core.Command{{Kind: core.CommandAgent, Name: "review", Description: "Review a pull request", Arguments: []core.Argument{{Name: "number"}}}, {Name: "init"}}
		prof := &core.Profile{
			Agents: []core.Agent{{Name: "claude", External: true, Backend: claude.Backend}}, Policy: asks,
			Commands: func(context.Context, core.Meta) []core.Command {
				return []core.Command{{Kind: core.CommandBuiltin, Name: "costs", Description: "Shows the costs"}, {Kind: core.CommandCustom, Name: "review"}}
			},
		}
		store := coretest.NewMemory()
		open := func() *core.Gateway {
			return core.New(core.Config{
				Store: store, Node: "test", NewID: func() string { return "s1" },
				Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
			})
		}
		is := func(peer *wiretest.Peer, last string) {
			t.Helper()
			peer.Until(t, `"availableCommands":[{"name":"costs","description":"dragoman: Shows the costs"},`+
				`{"name":"review","description":"claude: Review a pull request","input":{"hint":"number"}},{"name":"`+last+`","description":"claude"}]`)
		}
		g := open()
		peer, stop := serve(t, g)
		newSession(t, peer)
		is(peer, "init")
		if err := peer.Send(promptLine(2, "learn compact")); err != nil {
			t.Fatal(err)
		}
		is(peer, "compact")
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		g = open()
		peer, stop = serve(t, g)
		if err := peer.Send(hello, resumeLine); err != nil {
			t.Fatal(err)
		}
		is(peer, "compact")
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if claude.starts != 1 {
			t.Errorf("the agent was started %d times, want once", claude.starts)
		}
	})
}

// A prompt goes by the choices that the client has sent before it, and can be stopped while the agent
// has not agreed to one.
func TestPromptsWaitForChoices(t *testing.T) {
	for _, stops := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			claude := newExternal(modelChoice)
			goOn := make(chan struct{})
			claude.Chooses = func(ctx context.Context, b core.Binding, id, value string) error {
				<-goOn
				return b.Host.Publish(ctx, claude.with(id, value))
			}
			claude.Run = func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: "by " + turn.Settings().Choices.Get("model")})
			}
			prof := &core.Profile{Agents: []core.Agent{{Name: "claude", External: true, Backend: claude.Backend}}, Policy: asks}
			g := core.New(core.Config{
				Store: coretest.NewMemory(), NewID: func() string { return "s1" },
				Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
			})
			peer, stop := serve(t, g)
			newSession(t, peer)
			if err := peer.Send(`{"jsonrpc":"2.0","id":2,"method":"session/set_config_option","params":{"sessionId":"s1","configId":"model","value":"opus"}}`, promptLine(3, "hello")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if stops {
				if err := peer.Send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`); err != nil {
					t.Fatal(err)
				}
				if got := peer.Until(t, `"id":3`); !strings.Contains(got, `"stopReason":"cancelled"`) {
					t.Errorf("the stopped prompt: %s", got)
				}
			}
			close(goOn)
			if !stops {
				peer.Until(t, `"text":"by opus"`)
				peer.Until(t, `"id":3`)
			}
			stop()
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// An agent that answers a choice only after its permission request is not waited for by the answer
// to that request.
func TestAChoiceDuringAPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claude := newExternal(modeChoice)
		begun, answered := make(chan struct{}), make(chan struct{})
		run := claude.Run
		claude.Run = func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			defer close(answered)
			return run(ctx, turn)
		}
		claude.Chooses = func(ctx context.Context, b core.Binding, id, value string) error {
			close(begun)
			select {
			case <-answered:
				return b.Host.Publish(ctx, claude.with(id, value))
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		prof := &core.Profile{Agents: []core.Agent{{Name: "claude", External: true, Backend: claude.Backend}}, Policy: asks}
		g := core.New(core.Config{
			Store: coretest.NewMemory(), NewID: func() string { return "s1" },
			Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
		})
		peer, stop := serve(t, g)
		newSession(t, peer)
		if err := peer.Send(promptLine(2, "permit")); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, "session/request_permission")
		if err := peer.Send(`{"jsonrpc":"2.0","id":3,"method":"session/set_mode","params":{"sessionId":"s1","modeId":"plan"}}`); err != nil {
			t.Fatal(err)
		}
		<-begun
		if err := peer.Send(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, "answered: allow allow_once")
		peer.Until(t, `"id":3,"result":{}`)
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
