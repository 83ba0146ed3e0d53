package acp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/delegate"
	"dragoman/core/ide"
)

// taskTools provides the tool spawn, which delegates its argument to the agent helper.
type taskTools struct{}

func (taskTools) Open(_ context.Context, host core.ToolHost) (core.Toolset, error) {
	return coretest.Tools{execTool(host), coretest.Tool{
		Is: core.Spec{Server: core.Native, Name: "spawn", Kind: core.KindThink},
		Previews: func(context.Context, core.Invocation) (core.Preview, error) {
			return core.Preview{Title: "helper: a task", Kind: core.KindThink}, nil
		},
		Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
			var args struct{ Arg string }
			if err := json.Unmarshal(inv.Args, &args); err != nil {
				return core.Result{}, err
			}
			d, err := delegate.Run(ctx, host, delegate.Task{
				Agent: "helper", Title: "a task", Prompt: []core.Block{core.Text{Text: args.Arg}}, Origin: inv.Origin,
				Started: func(id core.SessionID) { inv.Show(core.Showing{Child: id}) },
			})
			return core.Result{Blocks: []core.Block{core.Text{Text: string(d.Stop) + " " + d.Text}}, Failed: d.Stop != core.StopEnd}, err
		},
	}}, nil
}

// execTool runs a command at once, in the editor's terminal if there is one.
func execTool(host core.ToolHost) coretest.Tool {
	return coretest.Tool{
		Is: core.Spec{Server: core.Native, Name: "exec", Kind: core.KindExecute},
		Previews: func(context.Context, core.Invocation) (core.Preview, error) {
			return core.Preview{Title: "Run ls", Kind: core.KindExecute, Locations: []core.Location{{Path: "/w"}}}, nil
		},
		Runs: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
			res := core.Result{Structured: []byte(`{"exit_code":3}`), Failed: true}
			e, id := ide.Of(host.Editor("")), host.Meta().ID
			if e == nil || !e.Caps().Terminal {
				inv.Output("one\n")
				res.Blocks = []core.Block{core.Text{Text: "one\n"}, core.Text{Text: "exit status 3"}}
				return res, nil
			}
			opened, err := e.Do(ctx, ide.OpenTerminal{Session: id, Command: "ls", Cwd: "/w"})
			if err != nil {
				return core.Result{}, err
			}
			term := opened.(ide.TerminalOpened)
			inv.Show(core.Showing{Content: []core.Block{core.Terminal(term)}})
			out, err := e.Do(ctx, ide.AwaitTerminal{Session: id, ID: term.ID})
			if err != nil {
				return core.Result{}, err
			}
			res.Blocks = []core.Block{core.Text{Text: out.(ide.TerminalOutput).Text}}
			return res, nil
		},
	}
}

// sent is a line to the client, as far as these tests look at it.
type sent struct {
	Method string
	Params struct {
		SessionID string
		Update    struct {
			SessionUpdate, SessionID string
			State                    struct{ State string }
		}
	}
}

func sentOf(line string) (s sent, ok bool) {
	text, ok := strings.CutPrefix(line, "<- ")
	return s, ok && json.Unmarshal([]byte(text), &s) == nil
}

// announcedFirst checks that nothing of a task's session comes before its announcement, or after it
// is idle.
func announcedFirst(t *testing.T, talk string) {
	t.Helper()
	works := map[string]bool{}
	for line := range strings.Lines(talk) {
		s, ok := sentOf(line)
		if u := s.Params.Update; u.SessionUpdate == "subagent_update" {
			works[u.SessionID] = u.State.State != "idle"
		} else if id := s.Params.SessionID; ok && id != "" && !works[id] && !strings.Contains(talk, `"result":{"sessionId":"`+id+`"`) && !strings.Contains(talk, `"session/load","params":{"sessionId":"`+id+`"`) {
			t.Errorf("session %s is not at work: %.300s", id, line)
		}
	}
}

// bySession orders the lines between two of the client by the sessions that they are about, because the order between
// sessions is not fixed.
func bySession(talk string) string {
	var b strings.Builder
	var run []string
	key := func(line string) string {
		s, _ := sentOf(line)
		if strings.HasPrefix(s.Method, "terminal/") { // sent by the command, beside the updates
			return "~" + s.Method
		}
		return cmp.Or(s.Params.Update.SessionID, s.Params.SessionID, "~"+s.Method)
	}
	for line := range strings.Lines(talk) {
		if _, ok := sentOf(line); ok {
			run = append(run, line)
			continue
		}
		slices.SortStableFunc(run, func(a, b string) int { return cmp.Compare(key(a), key(b)) })
		b.WriteString(strings.Join(run, "") + line)
		run = nil
	}
	return b.String()
}

// asksToRun is asks, and requires approval for commands, too.
var asksToRun = coretest.Policy(func(c core.Check) core.Verdict {
	if c.Spec.Name == "exec" {
		return core.Verdict{Effect: core.MustAsk, Why: "it runs a command"}
	}
	return asks(c)
})

// Each file is a conversation whose agent delegates tasks, its lines ordered by session; the parts
// are processes one after the other.
func TestSubsessions(t *testing.T) {
	coretest.Golden(t, "testdata/subsession/*.txtar", *updateGolden, func(t *testing.T, _ string, ar *txtar.Archive) {
		store, last := coretest.NewMemory(), 0
		for i, f := range ar.Files {
			synctest.Test(t, func(t *testing.T) {
				agent := core.Agent{Name: "code", Backend: &coretest.Backend{Run: act}}
				prof := &core.Profile{
					Agents: []core.Agent{agent}, Subagents: []core.Agent{{Name: "helper", Backend: agent.Backend}},
					Toolboxes: []core.Toolbox{coretest.Tools{writeFile}, sessionTools{}, taskTools{}}, Policy: asksToRun,
				}
				g := core.New(core.Config{
					Store: store, Node: "test", AskMark: func() string { return "" },
					NewID:    func() string { last++; return "s" + string(rune('0'+last)) },
					Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
				})
				peer, stop := serve(t, g)
				got, err := peer.Play(string(f.Data), synctest.Wait)
				if err != nil {
					t.Error(err)
				}
				announcedFirst(t, got)
				ar.Files[i].Data = []byte(bySession(got))
				stop()
				if err := g.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	})
}
