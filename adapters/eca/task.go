package eca

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
)

// The agent's plan fills the clients' panel of tasks: they take the tool "task" of the server
// "eca" for it, and show no card. So the call of our tool that changes the plan gets that name
// once it runs. Before that, and if somebody is asked about it, it is a call like any other,
// because a call of that name cannot be approved anywhere. A change of the plan without such a
// call is shown by a made-up call.

// planTool is the name of our tool that changes the plan.
const planTool = "update_plan"

// isPlan reports whether a call changes the plan.
func isPlan(now core.Call) bool { return now.Server == core.Native && now.Tool == planTool }

// plans is isPlan for chats with a panel: a child has none of its own.
func (v *View) plans(now core.Call) bool { return v.parent == "" && isPlan(now) }

// planChanged stores the plan for the call that changes it, or shows it by itself.
func (v *View) planChanged(dst []byte, r core.Record, e core.PlanChanged) []byte {
	v.steps = e.Entries
	if v.planners > 0 || v.parent != "" {
		return dst
	}
	return v.shown(dst, core.Call{
		ID: core.CallID(fmt.Sprintf("plan-%d-%d", r.Epoch, r.Seq)), Server: core.Native, Tool: planTool, Title: "Update the plan", State: core.Succeeded,
		Args: json.RawMessage("{}"), Content: []core.Block{core.Text{Text: planText(e.Entries)}},
	})
}

// shown returns the messages of a whole call that changes the plan.
func (v *View) shown(dst []byte, now core.Call) []byte {
	c := &call{now: now, task: true}
	return v.called(v.run(v.prepare(dst, c), c, false), c)
}

// planCall does the work of callChanged for a call that changes the plan; ordinary reports that
// it is to be shown like other calls.
func (v *View) planCall(dst []byte, c *call) (_ []byte, ordinary bool) {
	switch c.now.State {
	case core.Proposed:
		return dst, false
	case core.Running:
		if !c.task && !c.prepared && !c.waited {
			c.task = true
			v.planners++
		}
		return dst, true
	case core.Canceled:
		if c.task { // one client recognizes only the end as the plan
			c.now.State = core.Errored
			dst = v.called(dst, c)
			return dst, false
		}
	case core.Awaiting, core.Succeeded, core.Errored, core.Rejected:
	}
	return dst, true
}

// taskDetails returns the plan in the panel's form.
func (v *View) taskDetails() *eca.Task {
	d := eca.Task{Type: eca.TypeTask, Tasks: []eca.TaskItem{}, InProgressTaskIDs: []int{}}
	for i, e := range v.steps {
		item := eca.TaskItem{ID: i + 1, Subject: e.Text, Status: eca.TaskPending, Priority: cmp.Or(e.Priority, "medium")}
		switch e.Status {
		case core.PlanPending:
			d.Summary.Pending++
		case core.PlanActive:
			item.Status = eca.TaskInProgress
			d.InProgressTaskIDs = append(d.InProgressTaskIDs, item.ID)
			d.ActiveSummary = cmp.Or(d.ActiveSummary, e.Text)
			d.Summary.InProgress++
		case core.PlanDone:
			item.Status = eca.TaskDone
			d.Summary.Done++
		}
		d.Tasks = append(d.Tasks, item)
	}
	d.Summary.Total = len(d.Tasks)
	return &d
}

// planText returns the plan for clients without a panel.
func planText(steps []core.PlanEntry) string {
	var b strings.Builder
	for _, e := range steps {
		mark := " "
		switch e.Status {
		case core.PlanPending:
		case core.PlanActive:
			mark = "~"
		case core.PlanDone:
			mark = "x"
		}
		b.WriteString("- [" + mark + "] " + e.Text + "\n")
	}
	if b.Len() == 0 {
		return "The plan is empty."
	}
	return b.String()
}
