package acp_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/acp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
	"dragoman/core/ide"
	"dragoman/core/inference"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// act is an agent that follows the prompt.
func act(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	text := ""
	for _, b := range t.Prompt() {
		if b, ok := b.(core.Text); ok {
			text += b.Text
		}
	}
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "say":
		return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: rest})
	case "think":
		h := t.NewThought()
		return core.StopEnd, t.Emit(ctx, core.ThoughtStarted{Thought: h}, core.ThoughtDelta{Thought: h, Text: rest}, core.ThoughtEnded{Thought: h},
			core.TextDelta{Message: t.NewMessage(), Text: "So be it."})
	case "plan":
		return core.StopEnd, t.Emit(ctx, core.PlanChanged{Entries: []core.PlanEntry{{Text: rest, Status: core.PlanActive}}},
			core.UsageChanged{Turn: t.ID(), Last: core.Usage{In: 10, Out: 2, CacheRead: 4, Reasoning: 1}, Total: core.Usage{In: 10, Out: 2}, Context: 12, Window: 1000})
	case "write":
		res, err := t.Invoke(ctx, core.Call{ID: t.NewCall(), Server: core.Native, Tool: "write_file", Args: coretest.Args(map[string]string{"path": rest})})
		if err != nil {
			return "", err
		}
		said := "Written."
		if res.Failed {
			said = "Not written."
		}
		return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: said})
	case "hang":
		if err := t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: "one moment"}); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "", ctx.Err()
	case "refuse":
		return core.StopRefusal, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: rest})
	case "rounds":
		return core.StopRequests, nil
	case "system":
		said := "There is none."
		if p := t.System(); p != nil {
			said = fmt.Sprintf("override %t: %q", p.Override, p.Text)
		}
		return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: said})
	case "ask", "choose", "run", "servers", "open", "print", "spawn", "exec":
		return core.StopEnd, invoke(ctx, t, verb, rest)
	case "wonder", "consent": // outside of any call
		a := core.Ask{Text: "Shall I?", Options: []core.Option{{ID: "y", Label: "Yes"}}}
		if verb == "consent" {
			a = core.Ask{Kind: core.AskConsent, Text: "May the server start?", Options: []core.Option{
				{ID: "start", Label: "Start it", Decision: core.AllowOnce},
				{ID: "always", Label: "Start it, also in the future", Decision: core.AllowSession},
				{ID: "no", Label: "Do not start it", Decision: core.RejectOnce},
			}}
		}
		r, err := t.Ask(ctx, a)
		if err != nil {
			return "", err
		}
		return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: string(r.Outcome) + " " + r.Option})
	case "pause":
		said, err := t.AskToContinue(ctx, "$1 is spent. Go on?", "up to $1 more")
		if err == nil && said != core.GoOn {
			err = &core.LimitError{Text: "$1 is spent."}
		}
		return core.StopEnd, err
	case "switch":
		c := core.Call{ID: t.NewCall(), Server: "agent", Tool: "switch", Kind: "switch_mode", State: core.Proposed}
		if err := t.Emit(ctx, core.CallChanged{Call: c}); err != nil {
			return "", err
		}
		return core.StopEnd, nil
	case "sum":
		return core.StopEnd, t.Emit(ctx, core.Compacted{Summary: rest}, core.Notice{Severity: core.Warning, Text: "nearly full\nlook out"},
			core.Cited{Link: core.Link{URI: "https://example.org", Title: "An example"}})
	}
	return "", errors.New("the model is out of order; try another one")
}

// invoke calls a tool, and reports the result.
func invoke(ctx context.Context, t *core.Turn, tool, arg string) error {
	res, err := t.Invoke(ctx, core.Call{ID: t.NewCall(), Server: core.Native, Tool: tool, Args: coretest.Args(map[string]string{"arg": arg})})
	if err != nil {
		return err
	}
	said := ""
	for _, b := range res.Blocks {
		if b, ok := b.(core.Text); ok {
			said += b.Text
		}
	}
	return t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: said})
}

// sessionTools provides tools that need their session: questions, and a terminal of the editor.
type sessionTools struct{}

func (sessionTools) Open(_ context.Context, host core.ToolHost) (core.Toolset, error) {
	question := func(a core.Ask) coretest.Tool {
		name := "ask"
		if len(a.Options) > 0 {
			name = "choose"
		}
		if a.URL != "" {
			name = "open"
		}
		return coretest.Tool{
			Is: core.Spec{Server: core.Native, Name: name, Kind: core.KindOther, ReadOnly: true},
			Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
				a.Turn, a.Call = inv.Turn, inv.Call
				r, err := host.Ask(ctx, a)
				if err != nil {
					return core.Result{}, err
				}
				return core.Result{Blocks: []core.Block{core.Text{Text: string(r.Outcome) + " " + r.Option + " " + r.Text}}}, err
			},
		}
	}
	return coretest.Tools{
		question(core.Ask{Text: "Please log in.", URL: "https://example.org/login"}),
		question(core.Ask{Text: "What is it called?", Freeform: true}),
		question(core.Ask{Text: "Which one?", Options: []core.Option{{ID: "1", Label: "This", Description: "the first"}, {ID: "2", Label: "That"}}}),
		coretest.Tool{
			Is:   core.Spec{Server: core.Native, Name: "run", Kind: core.KindExecute},
			Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) { return run(ctx, host, inv) },
		},
		coretest.Tool{
			Is: core.Spec{Server: core.Native, Name: "print", Kind: core.KindExecute},
			Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
				inv.Output("one\ntwo\n")
				<-ctx.Done()
				return core.Result{}, ctx.Err()
			},
		},
		coretest.Tool{
			Is: core.Spec{Server: core.Native, Name: "servers", Kind: core.KindThink, ReadOnly: true},
			Runs: func(context.Context, core.Invocation) (core.Result, error) {
				return core.Result{Blocks: []core.Block{core.Text{Text: fmt.Sprintf("%+v", host.Servers())}}}, nil
			},
		},
	}, nil
}

// run runs a command in the editor's terminal, or reports the output that it would have.
func run(ctx context.Context, host core.ToolHost, inv core.Invocation) (core.Result, error) {
	exit := []byte(`{"exit_code":3}`)
	e, id := ide.Of(host.Editor("")), host.Meta().ID
	if e == nil || !e.Caps().Terminal {
		inv.Output("one\n")
		<-time.After(time.Millisecond) // by the bubble's clock: the output is on its way
		inv.Output("two\n")
		return core.Result{Blocks: []core.Block{core.Text{Text: "one\ntwo\nexit status 3"}}, Structured: exit, Failed: true}, nil
	}
	shown := func() { <-time.After(time.Millisecond) } // by the bubble's clock: earlier messages are on their way
	shown()
	opened, err := e.Do(ctx, ide.OpenTerminal{Session: id, Command: "sh", Args: []string{"-c", "ls"}, Env: map[string]string{"B": "2", "A": "1"}, Cwd: "/w", Limit: 1000})
	if err != nil {
		return core.Result{}, err
	}
	term := opened.(ide.TerminalOpened)
	inv.Show(core.Showing{Content: []core.Block{core.Terminal(term)}})
	shown()
	out, err := e.Do(ctx, ide.AwaitTerminal{Session: id, ID: term.ID})
	if err != nil {
		return core.Result{}, err
	}
	if _, err := e.Do(ctx, ide.CloseTerminal{Session: id, ID: term.ID}); err != nil {
		return core.Result{}, err
	}
	return core.Result{Blocks: []core.Block{core.Text{Text: out.(ide.TerminalOutput).Text}}, Structured: exit}, nil
}

var writeFile = coretest.Tool{
	Is: core.Spec{Server: core.Native, Name: "write_file", Kind: core.KindEdit},
	Previews: func(context.Context, core.Invocation) (core.Preview, error) {
		return core.Preview{
			Title: "Write /w/a.txt", Kind: core.KindEdit, Locations: []core.Location{{Path: "/w/a.txt"}},
			Content: []core.Block{core.Diff{Path: "/w/a.txt", New: "hello\n", Created: true, Patch: "+hello\n", Added: 1}},
		}, nil
	},
	Runs: func(_ context.Context, inv core.Invocation) (core.Result, error) {
		inv.Output("half way\n")
		return core.Result{Blocks: []core.Block{core.Text{Text: "6 bytes"}}, Structured: []byte(`{"bytes":6}`)}, nil
	},
}

// asks requires approval for everything, and remembers.
var asks = coretest.Policy(func(c core.Check) core.Verdict {
	if d, ok := c.Remembered["edits"]; ok {
		if d.Allows() {
			return core.Verdict{Effect: core.Allow, Why: "allowed for this session"}
		}
		return core.Verdict{Effect: core.Deny, Why: "rejected for this session"}
	}
	if c.Spec.Name != "write_file" {
		return core.Verdict{Effect: core.Allow, Why: "it is harmless"}
	}
	return core.Verdict{Effect: core.MustAsk, Why: "it changes a file", Remember: "edits", RememberText: "changes to files in /w"}
})

func newGateway(store core.Store, broken error, rich bool) *core.Gateway {
	prof := &core.Profile{
		Agents:    []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: act, CapsNow: core.BackendCaps{Images: true, Resources: true}}}},
		Toolboxes: []core.Toolbox{coretest.Tools{writeFile}, sessionTools{}},
		Policy:    asks,
	}
	if rich {
		prof.Agents = append(prof.Agents, core.Agent{Name: "plan", Description: "Looks and makes a plan", Backend: prof.Agents[0].Backend})
		list := []inference.ModelInfo{{ID: "a/small", Name: "Small"}, {ID: "a/large", Efforts: []string{"low", "high"}}}
		prof.Models = inference.Models{List: list, Default: "a/small"}
	}
	last := 0
	return core.New(core.Config{
		Store: store, Node: "test",
		NewID:    func() string { last++; return "s" + string(rune('0'+last)) },
		AskMark:  func() string { return "" },
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, broken }),
	})
}

// serve starts a server; stop ends it and reports leftovers.
func serve(t *testing.T, g *core.Gateway) (peer *wiretest.Peer, stop func()) {
	t.Helper()
	return serveWith(t, g, nil)
}

// serveWith is serve with a board that the test writes to.
func serveWith(t *testing.T, g *core.Gateway, b board.Reader) (peer *wiretest.Peer, stop func()) {
	t.Helper()
	return wiretest.Serve(t, wire.Newline, acp.New(acp.Options{Gateway: g, Board: b, Principal: core.Local, Version: "1.2.3"}).Serve)
}

// Each file contains one conversation: lines to the server (->) and everything that it sent (<-),
// once nothing changes any more. A file whose name begins with "config" has an invalid
// configuration, one with "choose" has agents and models to choose.
func TestConversations(t *testing.T) {
	coretest.Golden(t, "testdata/*.txtar", *updateGolden, func(t *testing.T, name string, ar *txtar.Archive) {
		store := coretest.NewMemory()
		for i, f := range ar.Files { // one process after the other
			synctest.Test(t, func(t *testing.T) {
				var broken error
				if strings.HasPrefix(name, "config") {
					broken = errors.New(`config.yaml:3:5: modle: unknown key; did you mean "model"?`)
				}
				g := newGateway(store, broken, strings.HasPrefix(name, "choose"))
				peer, stop := serve(t, g)
				got, err := peer.Play(string(f.Data), synctest.Wait)
				if err != nil {
					t.Error(err)
				}
				ar.Files[i].Data = []byte(got)
				stop()
				if err := g.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	})
}
