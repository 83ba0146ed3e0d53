package eca

import (
	"strings"
	"testing"

	"dragoman/adapters/eca/offer"
	"dragoman/core"
)

// The approval of a child's call is shown in the child's chat: in the parent's only if the client
// does not know the child.
func TestApprovalOfAChild(t *testing.T) {
	about := core.Call{ID: "s2/c9", Server: core.Native, Tool: "write_file", Title: "explorer: Write", State: core.Awaiting, Child: "s2"}
	asked := core.Asked{Ask: core.Ask{ID: "q1", Kind: core.AskApproval, Call: "s2/c9", About: &about}}
	spawn := core.Call{ID: "c1", Server: core.Native, Tool: "spawn_agent", Args: []byte(`{"agent":"explorer"}`), State: core.Running, Child: "s2"}
	for _, d := range dialects {
		for _, told := range []bool{false, true} {
			v, sent := earlyView(d)
			v.live = true
			if told {
				encode(nil, v, core.Record{Event: core.CallChanged{Call: spawn}})
			}
			got := sent(encode(nil, v, core.Record{Event: asked}))
			if want := d != Now || !told; strings.Contains(got, `"manualApproval":true,"summary"`) != want {
				t.Errorf("%s, told=%t: %s", d, told, got)
			}
			end := sent(encode(nil, v, core.Record{Event: core.Answered{Ask: "q1", Reply: core.Reply{Outcome: core.OutcomeExpired}}}))
			if strings.Contains(end, "toolCallRejected") != (got != "") {
				t.Errorf("%s, told=%t: it ends with %s", d, told, end)
			}
		}
	}
}

// A child's contents name the chat that shows them, and only contents are sent for a child.
func TestContentsOfAChild(t *testing.T) {
	v := newView(childChat("s2"), nil, "", offer.New(nil))
	v.under("c1")
	v.live = true
	var lines []byte
	for _, ev := range []core.Event{
		core.TurnStarted{Turn: "t", Message: "m", Prompt: []core.Block{core.Text{Text: "go"}}},
		core.Phase{Turn: "t", Kind: core.PhaseGenerating},
		core.ThoughtStarted{Thought: "h1"},
		core.CallChanged{Call: core.Call{ID: "c1", Server: core.Native, Tool: "x", State: core.Proposed}},
		core.CallArgs{Call: "c1", Text: "{"},
		core.TitleChanged{Title: "x"},
		core.SettingsChanged{Settings: core.Settings{Model: "a/b"}},
		core.TextDelta{Message: "m2", Text: "hi"},
		core.PlanChanged{Entries: []core.PlanEntry{{Text: "x"}}},
		core.Flagged{Message: "m", Text: "y"},
		core.TurnEnded{Turn: "t", Stop: core.StopEnd},
		core.Truncated{},
	} {
		lines = encode(lines, v, core.Record{Event: ev})
	}
	for line := range strings.Lines(string(lines)) {
		if !strings.HasPrefix(line, `{"jsonrpc":"2.0","method":"chat/contentReceived","params":{"chatId":"subagent-s2","parentChatId":"c1","role":`) {
			t.Errorf("got %s", line)
		}
	}
	if n := strings.Count(string(lines), "\n"); n != 5+1 {
		t.Errorf("%d messages, want the user's text, the agent's, the thought's beginning and its end, and two of a call:\n%s", n, lines)
	}
	// Clients store the calls and thoughts of a chat and its children by their ids.
	if got := string(lines); strings.Count(got, `"id":"s2/h1"`) != 2 || strings.Count(got, `"id":"s2/c1"`) != 2 || strings.Contains(got, "contentId") {
		t.Errorf("got %s", got)
	}
}

// An approval of a child's call with answers of its own has no buttons, in whatever chat it is shown:
// the question to the parent's user has all answers.
func TestQuestionAboutAChild(t *testing.T) {
	about := core.Call{ID: "s2/c9", Server: "codex", Tool: "Bash", Title: "explorer: Run", State: core.Awaiting, Child: "s2"}
	a := core.Ask{ID: "q1", Kind: core.AskApproval, Call: "s2/c9", About: &about, Options: []core.Option{{ID: "a", Label: "Yes", Decision: core.AllowOnce}, {ID: "b", Label: "Never"}}}
	for _, d := range dialects {
		v, sent := earlyView(d)
		v.live = true
		got := sent(encode(nil, v, core.Record{Event: core.Asked{Ask: a}}))
		if !strings.Contains(got, "toolCallRun") || strings.Contains(got, `"manualApproval":true`) {
			t.Errorf("%s: %s", d, got)
		}
		if q := v.inWords(a); !strings.HasPrefix(q.Text, "explorer: Run") || q.Options[1].Label != "Never" {
			t.Errorf("%s: %+v", d, q)
		}
	}
	child := newView(childChat("s2"), nil, "", offer.New(nil))
	child.under("c1")
	child.live = true
	own := a
	own.Call, own.About = "c9", nil
	lines := encode(nil, child, core.Record{Event: core.CallChanged{Call: core.Call{ID: "c9", Server: "codex", Tool: "Bash", State: core.Awaiting}}})
	lines = encode(lines, child, core.Record{Event: core.Asked{Ask: own}})
	if got := string(lines); !strings.Contains(got, `"toolCallRun","origin":"mcp","id":"s2/c9"`) || strings.Contains(got, `"manualApproval":true`) {
		t.Errorf("in its own chat: %s", got)
	}
}
