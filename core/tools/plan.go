package tools

import (
	"context"
	"fmt"

	"dragoman/core"
)

var planSpec = core.Spec{
	Server: core.Native,
	Name:   "update_plan",
	Title:  "Update the plan",
	Description: "Shows the user the plan of the work: all of its steps with their state, replacing the plan before. Use it for work of several " +
		"steps, and again when a step's state changes.",
	Schema: []byte(`{
  "type": "object",
  "properties": {
    "entries": {
      "type": "array",
      "maxItems": 100,
      "items": {
        "type": "object",
        "properties": {
          "text": {"type": "string"},
          "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]}
        },
        "required": ["text", "status"],
        "additionalProperties": false
      }
    }
  },
  "required": ["entries"],
  "additionalProperties": false
}`),
	Kind:       core.KindThink,
	ReadOnly:   true,
	Idempotent: true,
}

func (s *toolset) preparePlan(_ context.Context, a *args) (*step, error) {
	plan := []core.PlanEntry{}
	a.objects("entries", true, 100, "", func(a *args) {
		e := core.PlanEntry{Text: a.text("text"), Status: core.PlanStatus(a.text("status"))}
		switch e.Status {
		case core.PlanPending, core.PlanActive, core.PlanDone:
		default:
			a.fail("argument %q must be pending, in_progress or completed, not %q", "status", e.Status)
		}
		plan = append(plan, e)
	})
	if err := a.done(); err != nil {
		return nil, err
	}
	done := 0
	for _, e := range plan {
		if e.Status == core.PlanDone {
			done++
		}
	}
	state := fmt.Sprintf("%d of %d steps done", done, len(plan))
	return &step{
		Preview: core.Preview{Title: "Update the plan: " + state},
		run: func(_ context.Context, inv core.Invocation) (core.Result, error) {
			if inv.Plan != nil {
				inv.Plan(plan)
			}
			return text("the plan is shown: " + state), nil
		},
	}, nil
}
