package mcp

import (
	"fmt"

	"dragoman/core"
	"dragoman/core/cursor"
	"dragoman/core/forms"
	"dragoman/core/notices"
)

const (
	maxEvents     = 200      // events that one agent_wait returns
	maxEventBytes = 64 << 10 // total bytes of their text
)

// event is one event of a turn in the form of agent_wait.
type event struct {
	Type   string `json:"type"`
	Text   string `json:"text,omitempty"`
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	Status string `json:"status,omitempty"`
}

// The types of an event. Successive text of one type is one event.
const (
	eventText     = "text"
	eventThought  = "thought"
	eventTool     = "tool"
	eventApproval = "approval"
	eventQuestion = "question"
	eventPlan     = "plan"
	eventNotice   = "notice"
	eventEnded    = "ended"
)

// events collects the events after a position until there are enough for one result; then the
// cursor stays.
type events struct {
	after core.Pos
	list  []event
	bytes int
	full  bool
}

// cursor returns the position from which the next agent_wait continues.
func (e *events) cursor() string { return cursor.Format(e.after) }

// add takes a record of the turn, which t has already folded.
func (e *events) add(t *turn, r core.Record) {
	if r.Seq == 0 || e.full || !e.after.Before(r.End()) {
		return
	}
	if r.Seq == e.after.Seq && r.Off < e.after.Off {
		_, rest, ok, err := e.after.Splice(r)
		if err != nil || !ok {
			return
		}
		r = rest
	}
	ev, ok := happened(t, r.Event)
	if !ok {
		e.after = r.End()
		return
	}
	last := len(e.list) - 1
	joins := last >= 0 && e.list[last].Type == ev.Type && (ev.Type == eventText || ev.Type == eventThought)
	if e.bytes > maxEventBytes || len(e.list) >= maxEvents && !joins {
		e.full = true
		return
	}
	e.after = r.End()
	e.bytes += len(ev.Text)
	if joins {
		e.list[last].Text += ev.Text
		return
	}
	e.list = append(e.list, ev)
}

// happened returns the event for a record.
//
// Deliberately there is none for: records before the turn, the prompt, arguments and output as
// they stream, the beginnings and ends of thoughts, answers to approvals (the call continues),
// and records of the session rather than of the turn.
func happened(t *turn, ev core.Event) (event, bool) {
	switch e := ev.(type) {
	case core.TextDelta:
		return event{Type: eventText, Text: e.Text}, true
	case core.ThoughtDelta:
		return event{Type: eventThought, Text: e.Text}, true
	case core.CallChanged:
		return event{Type: eventTool, ID: string(e.Call.ID), Name: toolName(e.Call), Status: callStatus(e.Call.State), Text: summary(e.Call)}, true
	case core.Asked:
		if e.Ask.Kind == core.AskApproval {
			a, ok := t.asked[e.Ask.ID]
			if !ok {
				a = t.approval(e.Ask)
			}
			return event{Type: eventApproval, ID: string(a.ID), Name: a.Tool, Text: a.Summary}, true
		}
		return event{Type: eventQuestion, ID: string(e.Ask.ID), Text: forms.Of(e.Ask).Question}, true
	case core.PlanChanged:
		return event{Type: eventPlan, Text: planLine(e)}, true
	case core.Notice, core.Missing, core.FellBack, core.Instructed:
		n, _ := notices.Of(e)
		return event{Type: eventNotice, Status: string(n.Severity), Text: n.Text}, true
	case core.Briefed: // the caller has what was said already
		return event{Type: eventNotice, Status: string(core.Info), Text: line(notices.Text(e), maxSummary)}, true
	case core.Foreign:
		return event{Type: eventNotice, Status: string(core.Info), Text: e.Text}, e.Text != ""
	case core.TurnEnded:
		return event{Type: eventEnded, Status: stopStatus(e.Stop), Text: e.Err}, true
	case core.Opened, core.Claimed, core.PromptQueued, core.TurnStarted, core.Steered, core.Phase, core.ThoughtStarted, core.ThoughtEnded,
		core.CallArgs, core.CallOutput, core.Answered, core.UsageChanged, core.TitleChanged, core.Archived, core.SettingsChanged, core.Bound,
		core.Flagged, core.Expanded, core.Compacted, core.Shortened, core.Reverted, core.Cited, core.Moved, core.Truncated, core.Offered, core.Unknown:
	}
	return event{}, false
}

// planText returns a plan as lines.
func planText(p core.PlanChanged) string {
	s := ""
	for _, e := range p.Entries {
		s += fmt.Sprintf("- [%s] %s\n", e.Status, e.Text)
	}
	return s
}
