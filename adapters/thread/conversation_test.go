package thread_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/thread"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/ide"
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
	say := func(text string) error { return t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: text}) }
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "say": // with what an external agent may add, of which threads show nothing
		if err := t.Emit(ctx, core.Foreign{Protocol: "acp", Raw: json.RawMessage(`{"sessionUpdate":"_x"}`), Text: "an update"}, core.Offered{Agent: "claude"}); err != nil {
			return "", err
		}
		return core.StopEnd, say(rest)
	case "hang":
		if err := say("one moment"); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "", ctx.Err()
	case "refuse":
		return core.StopRefusal, say(rest)
	case "write":
		res, err := t.Invoke(ctx, core.Call{ID: t.NewCall(), Server: core.Native, Tool: "write_file", Args: coretest.Args(map[string]string{"path": rest})})
		if err != nil {
			return "", err
		}
		said := "Written."
		if res.Failed {
			said = "Not written."
		}
		return core.StopEnd, say(said)
	case "read":
		res, err := t.Invoke(ctx, core.Call{ID: t.NewCall(), Server: core.Native, Tool: verb, Args: coretest.Args(map[string]string{"arg": rest})})
		if err != nil {
			return "", err
		}
		said := ""
		for _, b := range res.Blocks {
			if b, ok := b.(core.Text); ok {
				said += b.Text
			}
		}
		return core.StopEnd, say(said)
	}
	return "", errors.New("the model is out of order; try another one")
}

// editorTool is the tool that reads through the editor, which needs its session.
type editorTool struct{}

func (editorTool) Open(_ context.Context, host core.ToolHost) (core.Toolset, error) {
	return coretest.Tools{coretest.Tool{
		Is:   core.Spec{Server: core.Native, Name: "read", Kind: core.KindRead, ReadOnly: true},
		Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) { return read(ctx, host, inv) },
	}}, nil
}

// read reads lines of a file through the editor, with all of the editor's features.
func read(ctx context.Context, host core.ToolHost, inv core.Invocation) (core.Result, error) {
	var args struct{ Arg string }
	if err := json.Unmarshal(inv.Args, &args); err != nil {
		return core.Result{}, err
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	e, id, path := ide.Of(host.Editor("")), host.Meta().ID, "/w/"+args.Arg
	text := "the disk's\n"
	var log []string
	for _, call := range []ide.Call{
		ide.StatFile{Session: id, Path: path},
		ide.GlobFiles{Session: id, Pattern: "*.txt"},
		ide.ReadBytes{Session: id, Path: path, Offset: 1, Limit: 2},
		ide.ReadFile{Session: id, Path: path, Line: 3, Limit: 2},
	} {
		caps := e.Caps()
		if !caps.ReadFile || !caps.Stat || !caps.Glob || !caps.ReadBytes {
			break
		}
		reply, err := e.Do(ctx, call)
		if err != nil {
			log = append(log, err.Error())
			continue
		}
		if f, ok := reply.(ide.FileText); ok {
			text = f.Text
		}
		log = append(log, fmt.Sprintf("%+v", reply))
	}
	blocks := []core.Block{core.Text{Text: text}, core.Text{Text: strings.Join(log, "\n")}}
	return core.Result{Blocks: blocks, Locations: []core.Location{{Path: path}}}, nil
}

var writeFile = coretest.Tool{
	Is: core.Spec{Server: core.Native, Name: "write_file", Kind: core.KindEdit},
	Runs: func(context.Context, core.Invocation) (core.Result, error) {
		return core.Result{Blocks: []core.Block{core.Text{Text: "6 bytes"}}}, nil
	},
}

// asks requires approval for changes and for files that core/policy asks about, and denies keys.
var asks = coretest.Policy(func(c core.Check) core.Verdict {
	switch {
	case len(c.Access) > 0 && strings.HasSuffix(c.Access[0].Path, ".key"):
		return core.Verdict{Effect: core.Deny, Why: "it is a key"}
	case len(c.Access) > 0 && c.Access[0].Linked:
		return core.Verdict{Effect: core.MustAsk, Why: "it has other names"}
	case len(c.Access) > 0 && c.Access[0].Wide:
		return core.Verdict{Effect: core.MustAsk, Why: "it may be anything of the user's"}
	case c.Spec.Name != "write_file":
		return core.Verdict{Effect: core.Allow, Why: "it is harmless"}
	}
	return core.Verdict{Effect: core.MustAsk, Why: "it changes a file"}
})

func newGateway(store core.Store) *core.Gateway {
	prof := &core.Profile{
		Agents:    []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: act}}},
		Toolboxes: []core.Toolbox{coretest.Tools{writeFile}, editorTool{}},
		Policy:    asks,
	}
	last := 0
	return core.New(core.Config{
		Store: store, Node: "test",
		NewID:    func() string { last++; return "s" + string(rune('0'+last)) },
		AskMark:  func() string { return "" },
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
	})
}

// serve starts a server; stop ends it and reports leftovers.
func serve(t *testing.T, g *core.Gateway, cwd string) (peer *wiretest.Peer, stop func()) {
	t.Helper()
	return wiretest.Serve(t, wire.Newline, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		s := thread.New(thread.Options{Gateway: g, Principal: core.Local, Cwd: cwd})
		return wire.NewConn(in, out, wire.Options{Framing: wire.Newline}).ServeFirst(ctx, func(string) wire.Protocol { return s })
	})
}

// Each file contains one conversation, one process after the other: lines to the server (->) and
// everything that it sent (<-), once nothing changes any more.
func TestConversations(t *testing.T) {
	coretest.Golden(t, "testdata/*.txtar", *updateGolden, func(t *testing.T, _ string, ar *txtar.Archive) {
		store := coretest.NewMemory()
		for i, f := range ar.Files {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway(store)
				peer, stop := serve(t, g, "/w")
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
