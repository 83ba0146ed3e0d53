package setup

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
	"dragoman/core/loop"
)

// A plan changes nothing, whatever is approved, however it is tried: not by itself, not through
// another agent, and not in the session of an agent that it may delegate to.
func TestPlanChangesNothing(t *testing.T) {
	r := newRoom(t, nil, map[string]string{"a.txt": "x\n"})
	r.configure("policy: {default: allow, allow: [{tool: \"*\", path: \"**\"}]}\n")
	made, err := r.profiles.In(t.Context(), []string{r.dir})
	if err != nil {
		t.Fatal(err)
	}
	file := coretest.Args(map[string]string{"path": filepath.Join(r.dir, "made.txt"), "content": "x"})
	task := func(agent string) string {
		return string(coretest.Args(map[string]string{"agent": agent, "task": "Write made.txt."}))
	}
	// The same script answers every session: the first requests are the plan's.
	script := coretest.NewScript(
		coretest.Answer{}.Call("c1", "write_file", string(file)),
		coretest.Answer{}.Call("c2", "spawn_agent", task("general")),
		coretest.Answer{}.Call("c3", "spawn_agent", task("explorer")),
		coretest.Answer{}.Call("c4", "write_file", string(file)), // the explorer's
		coretest.Answer{}.Say("I could not."),
		coretest.Answer{}.Say("Done."),
	)
	scripted := func(r role, offer func(core.Spec) bool) core.Agent {
		return core.Agent{Name: r.Name, Backend: loop.New(loop.Options{
			Model: func(context.Context, *core.Turn) (inference.Model, error) { return script, nil }, Offer: offer,
		})}
	}
	p := made.Profile
	p.Agents, p.Subagents = nil, nil
	for _, role := range made.roles {
		// As if every agent had all tools: the policy alone must prevent changes.
		if a := scripted(role, nil); role.Primary {
			p.Agents = append(p.Agents, a)
		} else {
			p.Subagents = append(p.Subagents, a)
		}
	}
	gateway := core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return &p, nil })})
	t.Cleanup(func() {
		if err := gateway.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s, err := gateway.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	r.enter(s)
	if err := r.att.Set(t.Context(), core.Settings{Agent: planAgent, Trust: true}); err != nil {
		t.Fatal(err)
	}
	r.answer = func(core.Ask) core.Reply {
		return core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowSession}
	}
	if got := r.say("Write made.txt."); got != "Done." {
		t.Errorf("the answer: %q", got)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "made.txt")); err == nil {
		t.Error("the file was written")
	}
	states := map[core.CallID]core.Call{}
	var child core.SessionID
	for _, ev := range r.events {
		if e, ok := ev.(core.CallChanged); ok {
			states[e.Call.ID] = e.Call
			if e.Call.Child != "" {
				child = e.Call.Child
			}
		}
	}
	for id, want := range map[core.CallID]core.CallState{"c1": core.Rejected, "c2": core.Rejected, "c3": core.Succeeded} {
		if states[id].State != want {
			t.Errorf("call %s: %+v", id, states[id])
		}
	}
	if why := states["c2"].Why; !strings.Contains(why, "changes nothing, also not through others") {
		t.Errorf("general: %s", why)
	}
	inner, err := gateway.Open(t.Context(), core.Local, child)
	if err != nil {
		t.Fatal(err)
	}
	att := inner.Attach(core.Client{Name: "test", Role: core.Observe})
	defer att.Close()
	rejected := false
	reader := att.Read(core.Pos{})
	defer reader.Close()
	for reader.Pos().Before(att.Head()) {
		recs, err := reader.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rejected = rejected || slices.ContainsFunc(recs, func(rec core.Record) bool {
			e, ok := rec.Event.(core.CallChanged)
			return ok && e.Call.Tool == "write_file" && e.Call.State == core.Rejected
		})
	}
	if !rejected {
		t.Error("the explorer's call was not rejected")
	}
}

// The tool for delegating offers the agents that accept tasks, and describes them.
func TestSubagentsAreOffered(t *testing.T) {
	r, _ := agentsRoom(t)
	var names []string
	for _, a := range subagents(r.host()) {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, ", "); got != "explorer, general, writer, guest, heir, peeker, narrow, careful, own, shy" {
		t.Errorf("subagents: %s", got)
	}
}
