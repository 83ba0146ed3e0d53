package mcp_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
	"dragoman/core/inference"
	"dragoman/core/tools"
	"dragoman/core/workspace"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// act is an agent that follows the prompt.
func act(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	text := ""
	for _, b := range t.Prompt() {
		switch b := b.(type) {
		case core.Text:
			text += b.Text
		case core.Link:
			text += " [" + b.URI + "]"
		case core.Image, core.Audio, core.Resource, core.Diff, core.Terminal:
		}
	}
	verb, rest, _ := strings.Cut(text, " ")
	say := func(s string) error { return t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: s}) }
	switch verb {
	case "say":
		return core.StopEnd, say(rest)
	case "who":
		set := t.Settings()
		return core.StopEnd, say(fmt.Sprintf("%s, %d hops, in %s, {Agent:%s Model:%s Effort:%s Trust:%t}", t.Origin().Client, t.Origin().Hops, strings.Join(t.Meta().Roots, " "), set.Agent, set.Model, set.Effort, set.Trust))
	case "think":
		h := t.NewThought()
		return core.StopEnd, t.Emit(ctx,
			core.ThoughtStarted{Thought: h}, core.ThoughtDelta{Thought: h, Text: rest}, core.ThoughtEnded{Thought: h},
			core.PlanChanged{Entries: []core.PlanEntry{{Text: "look", Status: core.PlanDone}, {Text: "leap", Status: core.PlanActive}}},
			core.TextDelta{Message: t.NewMessage(), Text: "So be it."},
			core.UsageChanged{Turn: t.ID(), Last: core.Usage{In: 10, Out: 2}, Total: core.Usage{In: 10, Out: 2}})
	case "later":
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		return write(ctx, t, rest)
	case "write":
		if err := say("Let me write that."); err != nil {
			return "", err
		}
		return write(ctx, t, rest)
	case "slow":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return "", err
		}
		for range 10 {
			select {
			case <-time.After(d / 10):
			case <-ctx.Done():
				return "", ctx.Err()
			}
			if err := t.Emit(ctx, core.Notice{Severity: core.Info, Text: "still at it"}); err != nil {
				return "", err
			}
		}
		return core.StopEnd, say("Done.")
	case "many":
		n, err := strconv.Atoi(rest)
		if err != nil {
			return "", err
		}
		for i := range n {
			if err := t.Emit(ctx, core.Notice{Severity: core.Info, Text: "one of many"}); err != nil {
				return "", err
			}
			if i%100 == 99 {
				synctestWait()
			}
		}
		return core.StopEnd, say("Done.")
	case "hang":
		if err := say("one moment"); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "", ctx.Err()
	case "long":
		n, err := strconv.Atoi(rest)
		if err != nil {
			return "", err
		}
		m := t.NewMessage()
		for range n {
			if err := t.Emit(ctx, core.TextDelta{Message: m, Text: strings.Repeat("ä", 500)}); err != nil {
				return "", err
			}
		}
		return core.StopTokens, nil
	case "ask":
		r, err := t.Ask(ctx, questions[rest])
		if err != nil {
			return "", err
		}
		return core.StopEnd, say(strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Outcome, r.Option, r.Text)))
	case "refuse":
		return core.StopRefusal, nil
	case "loop":
		return core.StopRequests, nil
	}
	return "", errors.New("the model is out of order; try another one")
}

// questions are the agent's possible questions, by name.
var questions = map[string]core.Ask{
	"choice": {Text: "Which way?", Options: []core.Option{{ID: "1", Label: "Left", Description: "along the river"}, {ID: "2", Label: "Right"}}},
	"text":   {Text: "What is it called?"},
	"both":   {Text: "Which way?", Options: []core.Option{{ID: "1", Label: "Left"}, {ID: "2", Label: "Right"}}, Freeform: true},
	"page":   {Text: "Sign in.", URL: "https://example.com/in"},
	"secret": {Text: "The key?", Secret: true},
}

// write writes files, concurrently if there are several.
func write(ctx context.Context, t *core.Turn, names string) (core.StopReason, error) {
	type result struct {
		failed bool
		err    error
	}
	list := strings.Fields(names)
	results := make(chan result)
	for _, name := range list {
		call := core.Call{ID: t.NewCall(), Server: core.Native, Tool: "write_file", Args: coretest.Args(map[string]string{"path": name, "api_key": "hush"})}
		go func() {
			res, err := t.Invoke(ctx, call)
			results <- result{res.Failed, err}
		}()
		if name != list[len(list)-1] {
			synctestWait()
		}
	}
	said, failed := "Written.", error(nil)
	for range list {
		r := <-results
		failed = errors.Join(failed, r.err)
		if r.failed {
			said = "Not written."
		}
	}
	if failed != nil {
		return "", failed
	}
	return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: said})
}

// synctestWait puts a moment between two calls, so that their order is certain.
func synctestWait() { <-time.After(time.Millisecond) }

var writeFile = coretest.Tool{
	Is: core.Spec{Server: core.Native, Name: "write_file", Kind: core.KindEdit},
	Previews: func(context.Context, core.Invocation) (core.Preview, error) {
		return core.Preview{
			Title: "Write a.txt", Kind: core.KindEdit,
			Content: []core.Block{core.Diff{Path: "/w/a.txt", New: "hello\n", Created: true, Patch: "@@ -0,0 +1 @@\n+hello\n", Added: 1}},
		}, nil
	},
	Runs: func(_ context.Context, inv core.Invocation) (core.Result, error) {
		inv.Output("half way\n")
		return core.Result{Blocks: []core.Block{core.Text{Text: "6 bytes"}}, Structured: []byte(`{"bytes":6}`)}, nil
	},
}

// asks requires approval for everything, and remembers.
var asks = coretest.Policy(func(c core.Check) core.Verdict {
	switch c.Origin.Approvals {
	case core.ApprovalsAuto:
		return core.Verdict{Effect: core.Allow, Why: "allowed unasked"}
	case core.ApprovalsDeny, core.ApprovalsReadOnly:
		return core.Verdict{Effect: core.Deny, Why: "rejected: the caller wants nothing that must be asked for (" + string(c.Origin.Approvals) + ")"}
	case core.ApprovalsAsk, "":
	}
	if strings.Contains(string(c.Call.Args), ".git/") {
		return core.Verdict{Effect: core.MustAsk, Hard: true, Why: "it decides what runs later"}
	}
	if d, ok := c.Remembered["edits"]; ok {
		if d.Allows() {
			return core.Verdict{Effect: core.Allow, Why: "allowed for this session"}
		}
		return core.Verdict{Effect: core.Deny, Why: "rejected for this session"}
	}
	return core.Verdict{Effect: core.MustAsk, Why: "it changes a file", Remember: "edits", RememberText: "changes to files"}
})

func newGateway(store core.Store, last int64, broken error) *core.Gateway {
	return newGatewayWith(store, last, broken, board.New())
}

// newGatewayWith is newGateway with a board that the test reads.
func newGatewayWith(store core.Store, last int64, broken error, b *board.Board) *core.Gateway {
	var ids atomic.Int64
	ids.Store(last)
	prof := &core.Profile{
		Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: act}}, {Name: "plan", Backend: &coretest.Backend{Run: act}}},
		Models: inference.Models{List: []inference.ModelInfo{{ID: "offline/demo"}}}, Toolboxes: []core.Toolbox{coretest.Tools{writeFile}}, Policy: asks,
		Workspace: workspace.Contents{Files: tools.NewFiles(tools.FilesOptions{Policy: asks})},
		Commands: func(context.Context, core.Meta) []core.Command {
			return []core.Command{
				{Kind: core.CommandCustom, Name: "review", Description: "Review a file", Arguments: []core.Argument{{Name: "path", Description: "Which file", Required: true}, {Name: "focus"}}},
				{Kind: core.CommandBuiltin, Name: "costs", Description: "Show what was used"},
			}
		},
	}
	return core.New(core.Config{
		Store: store, Node: "test", Listing: b,
		NewID:    func() string { return "s" + strconv.FormatInt(ids.Add(1), 10) },
		AskMark:  func() string { return "" },
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, broken }),
	})
}

// serve starts a server; stop hangs up and reports leftovers.
func serve(t *testing.T, o mcp.Options) (p *wiretest.Peer, stop func()) {
	t.Helper()
	o.Version = "1.2.3"
	if o.Instructions == "" {
		o.Instructions = "be nice"
	}
	return wiretest.Serve(t, wire.Newline, mcp.New(o).Serve)
}

func servePipe(t *testing.T, o mcp.Options) (peer, func()) { return serve(t, o) }

// Each file contains one conversation: lines to the server (->), successive ones in one write,
// and everything that it sent (<-), once nothing changes any more. "== 50s" lets that time pass,
// and "== close" ends the input. DIR stands for the workspace, STATE for the last requestState. A
// file's comment may contain "flags:" and then roots, workspaces, home, auto, persons
// (agent_approve allows nothing), or broken (an invalid configuration). The files of an archive
// are successive connections to one store.
func TestConversations(t *testing.T) {
	coretest.Golden(t, "testdata/*.txtar", *updateGolden, func(t *testing.T, _ string, ar *txtar.Archive) { converseAll(t, servePipe, ar) })
}

// converseAll plays the connections of an archive, one after the other, and records the messages
// in it.
func converseAll(t *testing.T, serve func(*testing.T, mcp.Options) (peer, func()), ar *txtar.Archive) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	store := coretest.NewMemory()
	for i, f := range ar.Files {
		synctest.Test(t, func(t *testing.T) {
			got := converse(t, serve, store, 10*int64(i), dir, string(ar.Comment), string(f.Data))
			ar.Files[i].Data = []byte(got)
		})
	}
}

func converse(t *testing.T, serve func(*testing.T, mcp.Options) (peer, func()), store core.Store, sessions int64, dir, comment, script string) string {
	_, flags, _ := strings.Cut(comment, "flags:")
	has := func(flag string) bool { return strings.Contains(flags, flag) }
	var broken error
	if has("broken") {
		broken = errors.New(`config.yaml:3:5: modle: unknown key; did you mean "model"?`)
	}
	b := board.New()
	g := newGatewayWith(store, sessions, broken, b)
	o := mcp.Options{Gateway: g, Board: b, Principal: core.Local, Cwd: dir, Home: "/home/ada", Settings: func() mcp.Settings {
		set := mcp.Settings{AllowAuto: has("auto"), ModelAnswers: !has("persons")}
		if has("workspaces") {
			set.Workspaces = []string{filepath.Join(dir, "sub")}
		}
		return set
	}}
	o.Expand = func(_ context.Context, _ []string, name string, args map[string]string) (string, bool, error) {
		if args["focus"] == "nothing" {
			return "", true, errors.New("focus on something")
		}
		return "Review " + args["path"] + ".", name == "review", nil
	}
	if has("home") {
		o.Home = dir
	}
	if has("roots") {
		o.Roots = []string{filepath.Join(dir, "sub")}
	}
	peer, stop := serve(t, o)
	defer func() {
		stop()
		if err := g.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close the gateway: %v", err)
		}
	}()
	p := player{peer: peer, dir: dir}
	got, err := p.script().Play(script)
	if err != nil {
		t.Error(err)
	}
	return got
}

// peer is the other side of a connection.
type peer interface {
	wiretest.Speaker
	Hangup()
}

// player replaces names by their values, and back.
type player struct {
	peer  peer
	dir   string
	state string
}

// script plays conversations.
func (p *player) script() wiretest.Script {
	return wiretest.Script{Peer: p.peer, Settle: synctest.Wait, Mark: "== ", Do: p.pass, Sends: p.sends, Hears: p.hears}
}

var stateMember = regexp.MustCompile(`"requestState":"([^"]+)"`)

// pass carries out a line that is not a message.
func (p *player) pass(what string) error {
	if what == "close" {
		p.peer.Hangup()
		return nil
	}
	d, err := time.ParseDuration(what)
	if err == nil {
		<-time.After(d)
	}
	return err
}

func (p *player) sends(msg string) string {
	return strings.NewReplacer("DIR", p.dir, "STATE", p.state).Replace(msg)
}

// hears sorts received messages: those that are not responses, then the responses by their ids,
// because calls run concurrently, then notifications about resources, and withdrawn questions,
// which the SDK sends on goroutines of its own.
func (p *player) hears(msgs []string) []string {
	var lines, answers, news, last []string
	for _, msg := range msgs {
		if m := stateMember.FindStringSubmatch(msg); m != nil {
			p.state = m[1]
			msg = strings.ReplaceAll(msg, m[1], "STATE")
		}
		msg = strings.ReplaceAll(msg, p.dir, "DIR")
		switch {
		case strings.Contains(msg, `"method":"notifications/cancelled"`):
			last = append(last, msg)
		case strings.Contains(msg, `"method":"notifications/resources/`):
			news = append(news, msg)
		case strings.Contains(msg, `"method":`):
			lines = append(lines, msg)
		default:
			answers = append(answers, msg)
		}
	}
	slices.Sort(answers)
	slices.Sort(news)
	return slices.Concat(lines, answers, news, last)
}
