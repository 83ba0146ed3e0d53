package tools

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/delegate"
)

// office is a host of a session that delegates tasks.
type office struct{ *bed }

func (office) Profile(context.Context) (*core.Profile, error) { return &core.Profile{}, nil }

func TestSpawn(t *testing.T) {
	agents := []Subagent{{Name: "explorer", Description: "Looks around.", MaxSteps: 2}, {Name: "general", Description: "Does things."}}
	b := newBed(t, Options{Subagents: func(core.ToolHost) []Subagent { return agents }})
	b.set.host = office{b}
	var task delegate.Task
	call := func(id core.CallID, s core.CallState) core.Record {
		return core.Record{Event: core.CallChanged{Call: core.Call{ID: id, State: s}}}
	}
	out := delegate.Result{Session: "s2", Text: "It is in a.go.", Stop: core.StopEnd}
	b.set.handOver = func(_ context.Context, _ core.ToolHost, in delegate.Task) (delegate.Result, error) {
		task = in
		in.Started("s2")
		in.Follow(core.Record{Event: core.TextDelta{Text: "I look."}})
		in.Follow(call("c1", core.Proposed))
		in.Follow(call("c1", core.Running))
		in.Follow(core.Record{Event: core.CallOutput{Call: "c1", Text: "x"}})
		in.Follow(call("c2", core.Proposed))
		in.Follow(call("c1", core.Succeeded))
		in.Follow(call("c3", core.Proposed))
		return out, nil
	}
	spec := b.tool("spawn_agent").Spec()
	if !strings.Contains(spec.Description, "- explorer: Looks around.\n- general: Does things.") || !strings.Contains(string(spec.Schema), `"enum": ["explorer","general"]`) ||
		!spec.ReadOnly || spec.Kind != core.KindThink {
		t.Errorf("spec %+v %s", spec, spec.Schema)
	}
	inv, pv, err := b.preview("spawn_agent", m{"agent": "explorer", "task": "Find it.\nAll of it.", "model": "p/m"})
	if err != nil || pv.Title != "explorer: Find it." || len(pv.Access) != 0 || pv.Content[0] != (core.Text{Text: "```\nFind it.\nAll of it.\n```"}) {
		t.Errorf("%+v %v", pv, err)
	}
	var titles []string
	var child core.SessionID
	inv.Origin = core.Origin{Hops: 3, Approvals: core.ApprovalsReadOnly}
	inv.Show = func(sh core.Showing) {
		if sh.Title != "" {
			titles = append(titles, sh.Title)
		}
		if sh.Child != "" {
			child = sh.Child
		}
		if !strings.Contains(string(sh.Meta), `{"agent":"explorer","model":"p/m","step":`) {
			t.Errorf("meta %s", sh.Meta)
		}
	}
	res, err := b.tool("spawn_agent").Run(t.Context(), inv)
	if err != nil || res.Failed || said(res) != "It is in a.go." {
		t.Errorf("%+v %v", res, err)
	}
	if got := strings.Join(titles, ", "); got != "explorer: Find it. (step 1 of 2), explorer: Find it. (step 2 of 2), explorer: Find it. (step 3)" || child != "s2" {
		t.Errorf("shown %s, child %s", got, child)
	}
	if task.Agent != "explorer" || task.Model != "p/m" || task.Title != "Find it." || task.Prompt[0] != (core.Text{Text: "Find it.\nAll of it."}) ||
		task.Origin.Hops != 3 || task.Origin.Approvals != core.ApprovalsReadOnly {
		t.Errorf("task %+v", task)
	}
	for _, c := range []struct {
		out    delegate.Result
		want   string
		failed bool
	}{
		{delegate.Result{Stop: core.StopEnd}, "[general said nothing]", false},
		{delegate.Result{Stop: core.StopError, Text: "half", Err: "no key"}, "half\n[it failed: no key]", true},
		{delegate.Result{Stop: core.StopRequests, Text: "half"}, "half\n[it was stopped after as many steps as it may take]", true},
		{delegate.Result{Stop: core.StopCanceled}, "[general said nothing]\n[it was stopped]", true},
		{delegate.Result{Stop: core.StopRefusal}, "refused", true},
		{delegate.Result{Stop: core.StopTokens, Text: "half"}, "half\n[its answer was cut", true},
	} {
		out = c.out
		got, err := b.run("spawn_agent", m{"agent": "general", "task": "x"})
		if !strings.Contains(got, c.want) || (err != nil) != c.failed {
			t.Errorf("%+v: %q %v", c.out, got, err)
		}
	}
	out = delegate.Result{Stop: core.StopEnd, Text: strings.Repeat("a long answer\n", 10_000)}
	if got := b.ok("spawn_agent", m{"agent": "general", "task": "x"}); len(got) > maxBytes+1000 || !strings.Contains(got, "whole output: spill:") {
		t.Errorf("%d bytes", len(got))
	}
	b.set.handOver = func(context.Context, core.ToolHost, delegate.Task) (delegate.Result, error) {
		return delegate.Result{}, errors.New("no such model")
	}
	b.fails("spawn_agent", m{"agent": "general", "task": "x"}, "hand the task to general: no such model")
	b.fails("spawn_agent", m{"agent": "code", "task": "x"}, `there is no agent "code"`)
	b.fails("spawn_agent", m{"agent": "general", "task": " "}, `argument "task" is empty`)
	b.fails("spawn_agent", m{"agent": "general"}, `argument "task" is missing`)
}
