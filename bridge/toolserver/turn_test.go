package toolserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
	"dragoman/core/coretest"
)

// A call of an agent is one of the session: the rules judge it, a person is asked about it, and the
// log has it. Tools that are not for agents cannot be called.
func TestCallsOfATurn(t *testing.T) {
	ran := map[string]int{}
	tool := func(server, name string) core.Tool {
		return coretest.Tool{Is: core.Spec{Server: server, Name: name}, Runs: func(_ context.Context, inv core.Invocation) (core.Result, error) {
			ran[name]++
			return core.Result{Blocks: []core.Block{core.Text{Text: fmt.Sprintf("%s did %s", name, inv.Args)}}}, nil
		}}
	}
	rules := coretest.Policy(func(c core.Check) core.Verdict {
		switch c.Spec.Name {
		case "denied":
			return core.Verdict{Effect: core.Deny, Why: "by rule 7"}
		case "asked":
			return core.Verdict{Effect: core.MustAsk, Why: "it writes"}
		}
		return core.Verdict{Effect: core.Allow, Why: "it reads"}
	})
	p := newPool(t)
	said := map[string]string{}
	run := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		s, err := p.Open(Client{})
		if err != nil {
			return "", err
		}
		defer s.Close()
		end, err := s.Begin(ctx, turn)
		if err != nil {
			return "", err
		}
		defer end()
		cs := bridgetest.Connected(t, ways["http"](t, s), bridgetest.Eras[0], nil)
		defer cs.Close()
		names(t, cs, "files__allowed", "files__denied", "files__asked")
		for _, name := range []string{"files__allowed", "files__denied", "files__asked", "shell_command"} {
			said[name] = bridgetest.Said(t, cs, name, map[string]any{"n": 1})
		}
		return core.StopEnd, nil
	}
	g := coretest.Gateway(coretest.NewMemory(), run, rules, tool("files", "allowed"), tool("files", "denied"), tool("files", "asked"), tool(core.Native, "shell_command"))
	defer func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	ctx := bridgetest.Patient(t)
	s, err := g.Create(ctx, core.Meta{Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "person", Principal: core.Local, Asks: true})
	defer a.Close()
	if _, err := a.Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: "go"}}}); err != nil {
		t.Fatal(err)
	}
	var states []string
	for r := a.Read(core.Pos{}); ; {
		recs, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		over := false
		for _, rec := range recs {
			switch e := rec.Event.(type) {
			case core.CallChanged:
				states = append(states, e.Call.Tool+" "+string(e.Call.State))
			case core.Asked:
				if err := a.Decide(ctx, e.Ask.ID, core.AllowOnce, ""); err != nil {
					t.Error(err)
				}
			case core.TurnEnded:
				over = true
			}
		}
		if over {
			r.Close()
			break
		}
	}
	states = slices.Compact(states)
	want := "[allowed proposed allowed running allowed succeeded denied proposed denied rejected " +
		"asked proposed asked awaiting asked running asked succeeded]"
	if got := fmt.Sprint(states); got != want {
		t.Errorf("the log has %s,\nwant %s", got, want)
	}
	if fmt.Sprint(ran) != "map[allowed:1 asked:1]" {
		t.Errorf("%v ran", ran)
	}
	for name, text := range map[string]string{
		"files__allowed": `allowed did {"n":1}`, "files__denied": "by rule 7", "files__asked": `asked did {"n":1}`, "shell_command": "there is no tool",
	} {
		if !strings.Contains(said[name], text) {
			t.Errorf("%s said %q", name, said[name])
		}
	}
}

// A turn that is cancelled ends the calls of its agent.
func TestCancelledTurn(t *testing.T) {
	began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	waits := coretest.Tool{Is: core.Spec{Server: "files", Name: "waits"}, Runs: func(ctx context.Context, _ core.Invocation) (core.Result, error) {
		began <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return core.Result{}, context.Cause(ctx)
	}}
	p := newPool(t)
	said := make(chan string, 1)
	run := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		s, err := p.Open(Client{})
		if err != nil {
			return "", err
		}
		defer s.Close()
		end, err := s.Begin(ctx, turn)
		if err != nil {
			return "", err
		}
		cs := bridgetest.Connected(t, ways["http"](t, s), bridgetest.Eras[0], &mcp.ClientOptions{})
		defer cs.Close()
		go func() { said <- bridgetest.Said(t, cs, "files__waits", nil) }()
		<-ctx.Done()
		end()
		<-said
		return core.StopCanceled, nil
	}
	g := coretest.Gateway(coretest.NewMemory(), run, coretest.Always(core.Verdict{Effect: core.Allow}), waits)
	ctx := bridgetest.Patient(t)
	s, err := g.Create(ctx, core.Meta{Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "person", Principal: core.Local})
	defer a.Close()
	id, err := a.Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: "go"}}})
	if err != nil {
		t.Fatal(err)
	}
	<-began
	if err := a.Cancel(ctx, id, nil); err != nil {
		t.Fatal(err)
	}
	<-ended
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
