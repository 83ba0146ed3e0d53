// Package notices words events for clients that have no other form for them.
package notices

import (
	"time"

	"dragoman/core"
)

// Of returns an event as a notice; ok is false for events that are not shown as one.
func Of(ev core.Event) (n core.Notice, ok bool) {
	switch e := any(ev).(type) {
	case core.Notice:
		return e, true
	case core.Missing:
		return core.Notice{Severity: core.Warning, Text: e.Text}, true
	case core.FellBack:
		return core.Notice{Severity: core.Warning, Text: e.Model + " could not answer, so " + e.Instead + " is asked instead: " + e.Reason}, true
	case core.Instructed:
		return core.Notice{Severity: core.Info, Text: "The agent has read the instructions in " + e.File + "."}, true
	case core.Briefed:
		return core.Notice{Severity: core.Info, Text: "Agent " + e.Agent + " was told:\n\n" + e.Text}, true
	}
	return core.Notice{}, false
}

// Text returns the text of an event's notice; empty: it is not shown as one.
func Text(ev core.Event) string {
	n, _ := Of(ev)
	return n.Text
}

// Pause returns the time until the next try (PhaseRetrying), in whole seconds and at least one.
func Pause(p core.Phase) string { return max(p.After.Round(time.Second), time.Second).String() }
