// Package notices words events for clients that have no other form for them.
package notices

import (
	"cmp"
	"fmt"
	"strings"
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
	case core.Compacted:
		return core.Notice{Severity: core.Info, Text: compacted(e)}, true
	case core.Reverted:
		return core.Notice{Severity: core.Info, Text: reverted(e)}, true
	case core.Cited:
		return core.Notice{Severity: core.Info, Text: strings.TrimSuffix("Source: "+cmp.Or(e.Link.Title, e.Link.Name)+" "+e.Link.URI, " ")}, true
	case core.Truncated:
		return core.Notice{Severity: core.Info, Text: "What stood behind this point was taken back."}, true
	case core.Foreign:
		return core.Notice{Severity: core.Info, Text: e.Text}, e.Text != ""
	}
	return core.Notice{}, false
}

// compacted reports that the agent remembers only a summary from now on. If the user asked for
// that, the agent's answer has the numbers.
func compacted(e core.Compacted) string {
	const summary = "The agent continues with a summary of the conversation above."
	switch {
	case !e.Auto:
		return summary
	case e.Before > 0 && e.After > 0:
		return fmt.Sprintf("The model's window was nearly full, so the conversation was compacted from %d to %d tokens. %s", e.Before, e.After, summary)
	}
	return "The model's window was nearly full, so the conversation was compacted. " + summary
}

// reverted lists the files that were restored and those that were not.
func reverted(e core.Reverted) string {
	var done, left strings.Builder
	for _, f := range e.Files {
		if f.Why == "" {
			done.WriteString("\n- " + f.Path)
		} else {
			left.WriteString("\n- " + f.Path + ": " + f.Why)
		}
	}
	var parts []string
	if done.Len() > 0 {
		parts = append(parts, "File changes that were undone:"+done.String())
	}
	if left.Len() > 0 {
		parts = append(parts, "Files that were left as they are:"+left.String())
	}
	if len(parts) == 0 {
		return "There were no file changes to undo."
	}
	return strings.Join(parts, "\n")
}

// Text returns the text of an event's notice; empty: it is not shown as one.
func Text(ev core.Event) string {
	n, _ := Of(ev)
	return n.Text
}

// Pause returns the time until the next try (PhaseRetrying), in whole seconds and at least one.
func Pause(p core.Phase) string { return max(p.After.Round(time.Second), time.Second).String() }
