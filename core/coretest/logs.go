package coretest

import (
	"encoding/json"
	"time"

	"dragoman/core"
)

// External is the name of an agent behind the gateway in Logs.
const External = "claude"

// Logs returns logs that have every fact, in the circumstances in which encoders tell it: samples of
// everything, random conversations, and what these do not have.
func Logs() (logs [][]core.Record) {
	list := [][]core.Event{Samples(), ends(), offers()}
	for seed := range uint64(2) {
		list = append(list, Conversation(seed, 2))
	}
	for _, events := range list {
		logs = append(logs, Records(1, events...))
	}
	return logs
}

// begun begins a log with a turn.
func begun(more ...core.Event) []core.Event {
	return append([]core.Event{
		core.Opened{Meta: core.Meta{ID: "s1", Principal: core.Local, Cwd: "/w", Roots: []string{"/w"}}},
		core.TurnStarted{Turn: "t1", Message: "m1", Key: "key-1", Prompt: append(Blocks(), core.Text{Text: "go"})},
	}, more...)
}

// ends are calls of all kinds, a turn in all phases, and ends of turns.
func ends() []core.Event {
	list := begun(core.Offered{Agent: External})
	start := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for i, kind := range []core.CallKind{core.KindRead, core.KindExecute, core.KindFetch, core.KindOther} {
		for _, server := range []string{core.Native, External} {
			for j, state := range []core.CallState{core.Succeeded, core.Errored, core.Rejected, core.Canceled} {
				c := core.Call{
					ID: core.CallID(server + string(rune('a'+4*i+j))), Turn: "t1", Server: server, Tool: "tool", Title: "Do it", Kind: kind, State: core.Proposed,
					Meta: json.RawMessage(`{"claudeCode":{"n":1}}`),
				}
				list = append(list, core.CallChanged{Call: c})
				if state == core.Succeeded || state == core.Errored {
					c.State, c.Start = core.Running, start
					list = append(list, core.CallChanged{Call: c}, core.CallOutput{Call: c.ID, Text: "output\n"})
				}
				c.State, c.Why, c.End = state, "the reason", start.Add(2*time.Second)
				list = append(list, core.CallChanged{Call: c})
			}
		}
	}
	change := core.Call{
		ID: "change", Turn: "t1", Server: External, Tool: "edit", Title: "Edit", Kind: core.KindEdit, State: core.Running,
		Content: []core.Block{core.Diff{Path: "/w/a.txt", Old: "one\n", New: "two\n"}},
	}
	list = append(list, core.CallChanged{Call: change})
	change.State = core.Succeeded
	list = append(list, core.CallChanged{Call: change})
	task := core.Call{ID: "task", Turn: "t1", Server: core.Native, Tool: "task", Title: "A task", Kind: core.KindThink, State: core.Proposed, Args: json.RawMessage(`{"agent":"code","task":"look"}`)}
	list = append(list, core.CallChanged{Call: task})
	task.State, task.Child = core.Running, "s9"
	list = append(list, core.CallChanged{Call: task})
	task.State, task.Content = core.Succeeded, []core.Block{core.Text{Text: "found"}}
	list = append(list, core.CallChanged{Call: task})
	for _, kind := range []core.PhaseKind{core.PhaseWaiting, core.PhaseStarting, core.PhaseRetrying, core.PhaseGenerating, core.PhaseCompacting} {
		list = append(list, core.Phase{Turn: "t1", Kind: kind, Tool: "files", After: time.Second})
	}
	list = append(
		list,
		core.Asked{Ask: core.Ask{ID: "q1", Kind: core.AskQuestion, Turn: "t1", Text: "Where?", URL: "https://example.com/login"}},
		core.Asked{Ask: core.Ask{ID: "q2", Kind: core.AskQuestion, Turn: "t1", Text: "Which?", Options: []core.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}}}},
		core.Asked{Ask: core.Ask{ID: "q3", Kind: core.AskQuestion, Turn: "t1", Text: "Name it", Freeform: true}},
		core.Asked{Ask: core.Ask{ID: "q4", Kind: core.AskApproval, Turn: "t1", Call: core.CallID(External + "a"), Text: "why", Remember: "all", Always: true}},
		core.Foreign{Protocol: "another", Raw: json.RawMessage(`{"n":1}`), Text: "an update of another protocol"},
		core.Foreign{Protocol: "another", Raw: json.RawMessage(`{"n":2}`), Text: "[image]", Content: Blocks()[1:2]},
		core.Foreign{Protocol: "another", Raw: json.RawMessage(`{"n":2}`), Text: "[sound]", Content: Blocks()[2:3]},
		core.Foreign{Protocol: "another", Raw: json.RawMessage(`{"n":2}`), Text: "[page]", Content: Blocks()[3:4]},
		core.Steered{Turn: "t1", Message: "m9", Prompt: append(Blocks(), core.Text{Text: "and more"})},
		core.UsageChanged{Turn: "t1", Last: core.Usage{In: 9, Out: 2, CacheRead: 3, CacheWrite: 1, Reasoning: 1}, Context: 11, Window: 100},
		core.TurnEnded{Turn: "t1", Stop: core.StopEnd},
		core.TurnStarted{Turn: "t2", Message: "m2", Key: "key-2", Prompt: []core.Block{core.Text{Text: "again"}}},
		core.TurnEnded{Turn: "t2", Stop: core.StopError, Err: "Log in first.", Login: External},
	)
	return list
}

// offers are the choices of an agent behind the gateway.
func offers() []core.Event {
	choice := core.Choice{ID: "mode", Name: "Mode", Description: "How it works", Category: "mode", Value: "plan", Values: []core.ChoiceValue{
		{ID: "plan", Name: "Plan", Description: "Reads alone", Group: "safe"}, {ID: "edit", Name: "Edit"},
	}}
	return begun(
		core.SettingsChanged{Settings: core.Settings{Model: "p/a", Effort: "high"}},
		core.SettingsChanged{Settings: core.Settings{Agent: External}},
		core.Offered{
			Agent:    External,
			Commands: []core.Command{{Kind: core.CommandAgent, Name: "review", Description: "Reviews", Arguments: []core.Argument{{Name: "what", Description: "a file", Required: true}}}},
			Choices:  []core.Choice{choice, {ID: "fast", Name: "Fast", Boolean: true, Value: "true"}},
		},
		core.SettingsChanged{Settings: core.Settings{Agent: External, Choices: core.Choices("").With("mode", "edit")}},
	)
}
