package upstream

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
	"dragoman/core/coretest"
)

// A turn's call goes through the policy and a person to the server, and its result is in the log;
// a question of the server reaches the person on the way.
func TestATurnCallsAServer(t *testing.T) {
	box := New(Options{Servers: []Server{{Name: "up", Endpoint: plays("sdk")}}, Environ: environ(), Wait: bridgetest.Patience})
	var results []core.Result
	run := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		for _, servers := range turn.Starters() {
			servers.Await(ctx, false)
		}
		specs, err := turn.Tools(ctx)
		if err != nil || len(specs) < 5 || specs[0].Server != "up" {
			t.Errorf("%d tools, %v", len(specs), err)
		}
		for _, c := range []core.Call{
			{ID: "1", Server: "up", Tool: "echo", Args: json.RawMessage(`{"text":"x"}`)},
			{ID: "2", Server: "up", Tool: "ask", Args: json.RawMessage(`{}`)},
			{ID: "3", Server: "up", Tool: "steps", Args: json.RawMessage(`{}`)},
			{ID: "4", Server: "up", Tool: "nothing", Args: json.RawMessage(`{}`)},
		} {
			res, err := turn.Invoke(ctx, c)
			if err != nil {
				return core.StopError, err
			}
			results = append(results, res)
		}
		return core.StopEnd, nil
	}
	prof := &core.Profile{
		Agents:    []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: run}}},
		Toolboxes: []core.Toolbox{box},
		Policy:    coretest.Always(core.Verdict{Effect: core.MustAsk, Why: "it is somebody else's"}),
	}
	g := core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
	ctx := bridgetest.Patient(t)
	s, err := g.Create(ctx, core.Meta{Principal: core.Local, Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "test", Principal: core.Local, Role: core.Decide, Asks: true, Questions: true})
	defer a.Close()
	r := a.Read(core.Pos{})
	defer r.Close()
	if _, err := a.Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: "go"}}}); err != nil {
		t.Fatal(err)
	}
	approvals, questions, output := 0, 0, ""
	for ended := false; !ended; {
		records, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range records {
			switch ev := rec.Event.(type) {
			case core.Asked:
				var err error
				if ev.Ask.Kind == core.AskApproval {
					approvals++
					err = a.Decide(ctx, ev.Ask.ID, core.AllowOnce, "")
				} else {
					reply := core.Reply{Outcome: core.OutcomeAnswered, Text: "30"}
					if questions++; len(ev.Ask.Options) > 0 {
						reply = core.Reply{Outcome: core.OutcomeAnswered, Option: ev.Ask.Options[len(ev.Ask.Options)-1].ID}
					}
					err = a.Answer(ctx, ev.Ask.ID, reply)
				}
				if err != nil {
					t.Error(err)
				}
			case core.CallOutput:
				output += ev.Text
			case core.TurnEnded:
				if ended = true; ev.Stop != core.StopEnd {
					t.Errorf("ended: %+v", ev)
				}
			}
		}
	}
	if approvals != 3 || questions != 3 || !strings.HasSuffix(output, "3/3 step\n") {
		t.Errorf("%d approvals, %d questions, output %q", approvals, questions, output)
	}
	if text(results[0]) != `{"text":"xx"}` || !strings.Contains(text(results[1]), `"action":"accept"`) || !results[3].Failed {
		t.Errorf("results %+v", results)
	}
	if err := g.Close(ctx); err != nil {
		t.Error(err)
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	if len(box.live["up"]) > 0 {
		t.Error("the server outlives its session")
	}
}
