package eca_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/eca"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// act is an agent that follows the prompt: verbs joined by " then ".
func act(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	text := ""
	for _, b := range t.Prompt() {
		if b, ok := b.(core.Text); ok {
			text += b.Text
		}
	}
	for part := range strings.SplitSeq(text, " then ") {
		verb, rest, _ := strings.Cut(part, " ")
		stop, err := do(ctx, t, verb, rest)
		if stop != "" || err != nil {
			return stop, err
		}
	}
	return core.StopEnd, nil
}

func do(ctx context.Context, t *core.Turn, verb, rest string) (core.StopReason, error) {
	cost := 0.0125
	switch verb {
	case "say":
		m, half := t.NewMessage(), len(rest)/2
		return "", t.Emit(ctx, core.TextDelta{Message: m, Text: rest[:half]}, core.TextDelta{Message: m, Text: rest[half:]})
	case "show": // the rest of the turn's input
		text := ""
		for _, b := range t.Prompt()[1:] {
			text += describe(b) + "\n"
		}
		view, err := standing(ctx, t)
		if err != nil {
			return "", err
		}
		for _, b := range view {
			text += "in view: " + describe(b) + "\n"
		}
		return "", t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: text})
	case "settings":
		set := t.Settings()
		text := "model=" + set.Model + " agent=" + set.Agent + " effort=" + set.Effort + " approvals=" + string(t.Origin().Approvals)
		if set.Trust {
			text += " trust"
		}
		return "", t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: text})
	case "think":
		h := t.NewThought()
		return "", t.Emit(ctx, core.ThoughtStarted{Thought: h}, core.ThoughtDelta{Thought: h, Text: rest},
			core.ThoughtEnded{Thought: h, Took: 1500 * time.Millisecond})
	case "muse": // a thought that does not end
		h := t.NewThought()
		return "", t.Emit(ctx, core.ThoughtStarted{Thought: h}, core.ThoughtDelta{Thought: h, Text: rest})
	case "read", "write":
		return call(ctx, t, map[string]string{"read": "read_file", "write": "write_file"}[verb], coretest.Args(map[string]string{"path": rest}))
	case "run", "behind":
		return call(ctx, t, "shell_command", coretest.Args(map[string]any{"command": rest, "background": verb == "behind"}))
	case "rows":
		return callOf(ctx, t, "db", "rows", coretest.Args(map[string]string{"of": rest}))
	case "remote":
		return callOf(ctx, t, "db", "query", coretest.Args(map[string]any{"sql": rest, "limit": 3, "tags": []string{"a"}, "deep": map[string]any{"x": nil}}))
	case "steps": // look=completed, fix=in_progress
		var entries []core.PlanEntry
		for step := range strings.SplitSeq(rest, ", ") {
			text, status, _ := strings.Cut(step, "=")
			entries = append(entries, core.PlanEntry{Text: text, Status: core.PlanStatus(status)})
		}
		return call(ctx, t, "update_plan", coretest.Args(map[string]any{"entries": entries}))
	case "use":
		return "", t.Emit(ctx, core.UsageChanged{
			Turn: t.ID(), Last: core.Usage{In: 10, Out: 2, Cost: &cost}, Total: core.Usage{In: 10, Out: 2, Cost: &cost}, Context: 12, Window: 1000,
			Shares: []core.Share{{Part: inference.PartSystem, Tokens: 9}, {Part: inference.PartMessages, Tokens: 3}}, CompactAt: 75,
		})
	case "notice":
		return "", t.Emit(ctx, core.Notice{Severity: core.Warning, Text: rest})
	case "plan":
		return "", t.Emit(ctx, core.PlanChanged{Entries: []core.PlanEntry{{Text: rest, Status: core.PlanActive}}})
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return "", err
		}
		select {
		case <-time.After(d):
			return "", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	case "hear": // messages received in the meantime
		for _, s := range t.Steered() {
			if err := t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: "I heard " + describe(s.Prompt[0])}); err != nil {
				return "", err
			}
		}
		return "", nil
	case "hang":
		<-ctx.Done()
		return "", ctx.Err()
	case "cite":
		m := t.NewMessage()
		return "", t.Emit(ctx, core.TextDelta{Message: m, Text: "See"}, core.Cited{Message: m, Link: core.Link{URI: rest, Title: "A page"}},
			core.Cited{Message: m, Link: core.Link{URI: rest}})
	case "refuse":
		return core.StopRefusal, nil
	case "unknown":
		return "", errors.New("model \"" + t.Settings().Model + "\": there is no provider \"" + rest + "\"")
	case "cut":
		return core.StopTokens, nil
	}
	return doMore(ctx, t, verb, rest)
}

var errModel = errors.New("the model is out of order; try another one")

// call writes a call's arguments in two parts, as a model does, and runs it.
func call(ctx context.Context, t *core.Turn, tool string, args json.RawMessage) (core.StopReason, error) {
	return callOf(ctx, t, core.Native, tool, args)
}

func callOf(ctx context.Context, t *core.Turn, server, tool string, args json.RawMessage) (core.StopReason, error) {
	id, half := t.NewCall(), len(args)/2
	err := t.Emit(ctx,
		core.CallChanged{Call: core.Call{ID: id, Turn: t.ID(), Server: server, Tool: tool, Kind: core.KindEdit, State: core.Proposed}},
		core.CallArgs{Call: id, Text: string(args[:half])}, core.CallArgs{Call: id, Text: string(args[half:])})
	if err != nil {
		return "", err
	}
	res, err := t.Invoke(ctx, core.Call{ID: id, Server: server, Tool: tool, Args: args})
	if err != nil {
		return "", err
	}
	said := "Done."
	if res.Failed {
		said = "Not done."
	}
	return "", t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: said})
}

// standing returns what the client keeps in view, as of the turn's beginning.
func standing(ctx context.Context, t *core.Turn) (blocks []core.Block, err error) {
	for rec, err := range t.Records(ctx, core.Pos{}) {
		if err != nil {
			return nil, err
		}
		if e, ok := rec.Event.(core.TurnStarted); ok && e.Standing != nil {
			blocks = e.Standing
		}
	}
	return blocks, nil
}

func describe(b core.Block) string {
	switch b := b.(type) {
	case core.Text:
		return "text " + b.Text
	case core.Image:
		return "image " + b.MIME + " " + string(b.Data)
	case core.Audio:
		return "audio"
	case core.Link:
		return "link " + b.URI + " (" + b.Description + ")"
	case core.Resource:
		return "resource " + b.URI + ": " + b.Text
	case core.Diff:
		return "diff"
	}
	return ""
}

var tools = coretest.Tools{
	coretest.Tool{
		Is: core.Spec{Server: core.Native, Name: "write_file", Kind: core.KindEdit},
		Previews: func(context.Context, core.Invocation) (core.Preview, error) {
			return core.Preview{
				Title: "Write /w/a.txt", Kind: core.KindEdit, Locations: []core.Location{{Path: "/w/a.txt"}},
				Content: []core.Block{core.Diff{Path: "/w/a.txt", New: "hello\n", Created: true, Patch: "@@ -0,0 +1 @@\n+hello\n", Added: 1}},
			}, nil
		},
		Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
			inv.Output("half way\n")
			select {
			case <-time.After(250 * time.Millisecond):
			case <-ctx.Done():
			}
			return core.Result{Blocks: []core.Block{core.Text{Text: "6 bytes"}}}, nil
		},
	},
	coretest.Tool{
		Is: core.Spec{Server: core.Native, Name: "read_file", Kind: core.KindRead, ReadOnly: true},
		Previews: func(_ context.Context, inv core.Invocation) (core.Preview, error) {
			if strings.Contains(string(inv.Args), "missing") {
				return core.Preview{}, errors.New("there is no such file")
			}
			return core.Preview{Title: "Read a file"}, nil
		},
		Runs: func(_ context.Context, inv core.Invocation) (core.Result, error) {
			if strings.Contains(string(inv.Args), ".png") {
				return core.Result{Blocks: []core.Block{core.Image{MIME: "image/png", Data: []byte("PNG")}}}, nil
			}
			return core.Result{Blocks: []core.Block{core.Text{Text: "done"}}}, nil
		},
	},
	coretest.Tool{Is: core.Spec{Server: "db", Name: "query", Title: "Query", Kind: core.KindOther, ReadOnly: true}},
	coretest.Tool{
		Is: core.Spec{Server: "db", Name: "rows", Kind: core.KindOther, ReadOnly: true},
		Runs: func(_ context.Context, inv core.Invocation) (core.Result, error) {
			res := core.Result{Blocks: []core.Block{core.Text{Text: " [{\"id\": 1}]\n"}, core.Text{Text: "one row"}, core.Text{Text: "7"}}}
			if strings.Contains(string(inv.Args), "typed") {
				res.Structured = []byte(`{"rows":[1]}`)
			}
			return res, nil
		},
	},
	coretest.Tool{Is: core.Spec{Server: core.Native, Name: "shell_command", Kind: core.KindExecute}},
	coretest.Tool{
		Is: core.Spec{Server: core.Native, Name: "update_plan", Kind: core.KindThink, ReadOnly: true},
		Previews: func(context.Context, core.Invocation) (core.Preview, error) {
			return core.Preview{Title: "Update the plan"}, nil
		},
		Runs: func(_ context.Context, inv core.Invocation) (core.Result, error) {
			var args struct{ Entries []core.PlanEntry }
			if err := json.Unmarshal(inv.Args, &args); err != nil {
				return core.Result{}, err
			}
			if len(args.Entries) > 0 && args.Entries[0].Text == "too much" {
				return core.Result{}, errors.New("the plan is too long")
			}
			inv.Plan(args.Entries)
			return core.Result{Blocks: []core.Block{core.Text{Text: "the plan is shown"}}}, nil
		},
	},
}

// judge requires approval for writes, and remembers.
var judge = coretest.Policy(func(c core.Check) core.Verdict {
	switch {
	case strings.Contains(string(c.Call.Args), "ask first"):
		return core.Verdict{Effect: core.MustAsk, Why: "a rule says so"}
	case strings.Contains(string(c.Call.Args), "forbidden"):
		return core.Verdict{Effect: core.Deny, Why: "a rule forbids it"}
	case c.Spec.ReadOnly:
		return core.Verdict{Effect: core.Allow, Why: "it only reads"}
	case c.Origin.Approvals == core.ApprovalsReadOnly:
		return core.Verdict{Effect: core.Deny, Why: "this turn may only read"}
	case c.Settings.Trust:
		return core.Verdict{Effect: core.Allow, Why: "the user trusts this chat"}
	case c.Remembered["edits"].Allows():
		return core.Verdict{Effect: core.Allow, Why: "allowed for this session"}
	}
	return core.Verdict{Effect: core.MustAsk, Why: "it changes a file", Remember: "edits", RememberText: "changes to files in /w"}
})

func profile() *core.Profile {
	backend := &coretest.Backend{Run: act, CapsNow: core.BackendCaps{Steer: true, Images: true, Resources: true}}
	return &core.Profile{
		Agents: []core.Agent{{Name: "code", Backend: backend}, {Name: "reviewer", Backend: backend}},
		Models: inference.Models{Default: "offline/demo", List: []inference.ModelInfo{
			{ID: "acme/large", Provider: "acme", Tools: true, Thinks: true, Window: 1000, MaxOut: 100, Efforts: []string{"low", "high"}},
			{ID: "offline/demo", Provider: "offline", Tools: true, Offline: true},
		}},
		Toolboxes: []core.Toolbox{tools},
		Policy:    judge,
		Commands: func(context.Context, core.Meta) []core.Command {
			return []core.Command{
				{Kind: core.CommandBuiltin, Name: "compact", Description: "Sums up the conversation"},
				{Kind: core.CommandCustom, Name: "review", Description: "Reviews a change", Arguments: []core.Argument{{Name: "file", Description: "The file", Required: true}, {Name: "depth"}}},
				{Kind: core.CommandSkill, Name: "release", Description: "How to release"},
				{Kind: core.CommandMCP, Name: "db:explain", Description: "Explains a query", Arguments: []core.Argument{{Name: "query", Required: true}}},
			}
		},
	}
}

// gateway is a gateway with its board.
type gateway struct {
	*core.Gateway
	board *board.Board
	fleet *fleet // nil: it has no servers
	offer *offers
}

// over returns the gateway that a configuration describes.
func over(c core.Config) *gateway {
	b := board.New()
	c.Listing = b
	return &gateway{core.New(c), b, nil, nil}
}

func newGateway(store core.Store, broken error) *gateway {
	offers, made := newOffers(), 0
	g := over(core.Config{
		Store: store, Node: "test",
		NewID: func() string { made++; return fmt.Sprintf("made-%d", made) },
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) {
			if broken != nil {
				return nil, broken
			}
			return offers.profile(), nil
		}),
	})
	g.fleet, g.offer = offers.fleet, offers
	offers.keys.board, offers.fleet.board, offers.bench.board = g.board, g.board, g.board
	return g
}

// serve starts a server; stop hangs up, and reports faults in its end.
func serve(t *testing.T, g *gateway) (peer *wiretest.Peer, stop func()) {
	t.Helper()
	minted := 0
	srv := eca.New(eca.Options{
		Principal: core.Local,
		Gateway:   g.Gateway, Board: g.board, Version: "1.2.3", Cwd: "/w", Configure: configure,
		NewID:    func() string { minted++; return "minted-" + string(rune('0'+minted)) },
		Alive:    func(pid int) bool { return pid == 4711 && time.Now().Year() == 2000 },
		Shutdown: g.Close,
	})
	return wiretest.Serve(t, wire.ContentLength, srv.Serve, eca.ErrNoShutdown)
}

// play plays a script. Besides the lines of wiretest it knows "@ 2s": that time passes, "@ server
// NAME STATUS WHY": an MCP server is in that state, and "@ dropped NAME": it is gone.
func play(peer *wiretest.Peer, b *board.Board, script string) (string, error) {
	do := func(what string) error { return passes(b, strings.Fields(what)) }
	return wiretest.Script{Peer: peer, Settle: synctest.Wait, Mark: "@ ", Do: do}.Play(script)
}

// passes carries out a line of a script that is not a message.
func passes(b *board.Board, words []string) error {
	switch words[0] {
	case "server":
		schema := json.RawMessage(`{"type":"object","properties":{"sql":{"type":"string"}}}`)
		tools := []core.Spec{{Name: "query", Description: "Asks the database", Schema: schema}}
		b.Put(board.Topic{Kind: "server", Name: words[1]}, board.Server{Name: words[1], Status: words[2], Why: strings.Join(words[3:], " "), Tools: tools})
		return nil
	case "dropped":
		b.Drop(board.Topic{Kind: "server", Name: words[1]})
		return nil
	}
	d, err := time.ParseDuration(words[0])
	if err == nil {
		<-time.After(d)
	}
	return err
}

// Each file contains conversations: lines to the server (->) and everything that it sent (<-)
// once nothing changes any more. The conversations of a file share one store, as successive
// processes do. A conversation whose name begins with "broken" has an invalid configuration. In
// "quick server" the server db starts with the client, and in "slow server" it needs an hour. One whose name begins with "agents" has agents behind the gateway; "first NAME" makes one of them the default agent.
func TestConversations(t *testing.T) {
	coretest.Golden(t, "testdata/*.txtar", *updateGolden, func(t *testing.T, _ string, ar *txtar.Archive) {
		store := coretest.NewMemory()
		for i, f := range ar.Files {
			ar.Files[i].Data = []byte(converse(t, store, f))
		}
	})
}

func converse(t *testing.T, store core.Store, f txtar.File) (got string) {
	synctest.Test(t, func(t *testing.T) {
		var broken error
		if strings.HasPrefix(f.Name, "broken") {
			broken = errors.New(`config.yaml:3:5: modle: unknown key; did you mean "model"? 100% sure`)
		}
		g := newGateway(store, broken)
		g.fleet.early = map[string]time.Duration{"quick server": time.Millisecond, "slow server": time.Hour}[f.Name]
		if strings.HasPrefix(f.Name, "agents") {
			g.offer.prof = guests(g.offer.prof)
		}
		if _, first, ok := strings.Cut(f.Name, "first "); ok { // the default agent
			i := slices.IndexFunc(g.offer.prof.Agents, func(a core.Agent) bool { return a.Name == first })
			g.offer.prof.Agents[0], g.offer.prof.Agents[i] = g.offer.prof.Agents[i], g.offer.prof.Agents[0]
		}
		peer, stop := serve(t, g)
		var err error
		if got, err = play(peer, g.board, string(f.Data)); err != nil {
			t.Error(err)
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return got
}
