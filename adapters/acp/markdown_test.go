package acp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// sent decodes the updates for events, without the envelope.
func sent(t *testing.T, v *View, events ...core.Event) (updates []map[string]any) {
	t.Helper()
	for _, r := range coretest.Records(1, events...) {
		for line := range strings.Lines(string(Encode(nil, v, r))) {
			var m struct {
				Params struct{ Update map[string]any }
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			updates = append(updates, m.Params.Update)
		}
	}
	return updates
}

// shownTexts returns the texts of an update's content.
func shownTexts(update map[string]any) (texts []string) {
	list, _ := update["content"].([]any)
	for _, c := range list {
		block, _ := c.(map[string]any)["content"].(map[string]any)
		s, _ := block["text"].(string)
		texts = append(texts, s)
	}
	return texts
}

func testView() *View {
	v := NewView("s", "", core.Pos{})
	v.Cwd = "/w"
	return v
}

// Results are code to a client that renders Markdown, unless they are Markdown themselves.
func TestResultsAreFenced(t *testing.T) {
	at := func(path string) []core.Location { return []core.Location{{Path: path}} }
	for name, test := range map[string]struct {
		call core.Call
		text string
		want string
	}{
		"a file":                  {core.Call{Server: core.Native, Kind: core.KindRead, Locations: at("/w/a.go")}, "package a\n", "```go\npackage a\n```"},
		"a file with a fence":     {core.Call{Server: core.Native, Kind: core.KindRead, Locations: at("/w/README.md")}, "````\n# x\n````", "`````md\n````\n# x\n````\n`````"},
		"a file with an odd name": {core.Call{Server: core.Native, Kind: core.KindRead, Locations: at("/w/a.b`c")}, "x", "```\nx\n```"},
		"a command":               {core.Call{Server: core.Native, Kind: core.KindExecute}, "# not a heading\nexit status 0", "```console\n# not a heading\nexit status 0\n```"},
		"a search":                {core.Call{Server: core.Native, Kind: core.KindSearch}, "a_b.go:1: *x*", "```\na_b.go:1: *x*\n```"},
		"plain words":             {core.Call{Server: core.Native, Kind: core.KindEdit}, "wrote a_b.txt (+1 −1)", "wrote a_b.txt (+1 −1)"},
		"a page":                  {core.Call{Server: core.Native, Kind: core.KindFetch}, "# Title\n*x*", "# Title\n*x*"},
		"an agent's answer":       {core.Call{Server: core.Native, Kind: core.KindThink}, "**done**", "**done**"},
		"Markdown of a server":    {core.Call{Server: "docs", Kind: core.KindOther}, "# Title\n*x*", "# Title\n*x*"},
		"JSON of a server":        {core.Call{Server: "docs", Kind: core.KindOther}, `{"a":"_b_"}`, "```json\n{\"a\":\"_b_\"}\n```"},
		"lines of a server":       {core.Call{Server: "docs", Kind: core.KindOther}, "one\ntwo", "```\none\ntwo\n```"},
	} {
		for _, state := range []core.CallState{core.Succeeded, core.Errored} {
			c := test.call
			c.ID, c.State, c.Content = "c", state, []core.Block{core.Text{Text: test.text}}
			for _, replay := range []bool{false, true} {
				v := testView()
				if replay {
					v.Head = core.Pos{Epoch: 1, Seq: 9}
				}
				updates := sent(t, v, core.CallChanged{Call: c})
				if got := shownTexts(updates[0]); !slices.Equal(got, []string{test.want}) {
					t.Errorf("%s, %s, in a replay %t: %q, want %q", name, state, replay, got, test.want)
				}
			}
		}
	}
}

// The preview of a call that could not run is Markdown already; only the reason is set as code.
func TestPreviewsAreNotFencedAgain(t *testing.T) {
	c := core.Call{ID: "c", Server: core.Native, Kind: core.KindExecute, State: core.Awaiting, Content: []core.Block{core.Text{Text: "```\nmake\n```"}}}
	v := testView()
	updates := sent(t, v, core.CallChanged{Call: c})
	if got, want := shownTexts(updates[0]), []string{"```\nmake\n```"}; !slices.Equal(got, want) {
		t.Errorf("before: %q, want %q", got, want)
	}
	c.State, c.Why = core.Errored, "start bash: no *such* file"
	c.Content = append(c.Content, core.Text{Text: c.Why})
	updates = sent(t, v, core.CallChanged{Call: c})
	if got, want := shownTexts(updates[0]), []string{"```\nmake\n```", "```console\n" + c.Why + "\n```"}; !slices.Equal(got, want) {
		t.Errorf("after: %q, want %q", got, want)
	}
}

// A text that is cut is one block of code; the note about the rest stands behind it.
func TestCutResultsEndTheirFence(t *testing.T) {
	c := core.Call{ID: "c", Server: core.Native, Kind: core.KindExecute, State: core.Succeeded, Content: []core.Block{core.Text{Text: strings.Repeat("x\n", maxResult)}}}
	got := shownTexts(sent(t, testView(), core.CallChanged{Call: c})[0])[0]
	code, note, ok := strings.Cut(got, "\n```\n")
	if !ok || !strings.HasPrefix(code, "```console\nx\n") || !strings.HasPrefix(note, "[… ") {
		t.Errorf("%.40q … %q", code, note)
	}
}

// A stopped command keeps what it printed.
func TestCancelledCommandKeepsItsOutput(t *testing.T) {
	c := core.Call{ID: "c", Server: core.Native, Kind: core.KindExecute, State: core.Running}
	end := c
	end.State, end.Why, end.Content = core.Canceled, "the turn was cancelled", []core.Block{core.Text{Text: "one\ntwo\n"}}
	updates := sent(t, testView(), core.CallChanged{Call: c}, core.CallOutput{Call: "c", Text: "one\n"}, core.CallOutput{Call: "c", Text: "two\n"}, core.CallChanged{Call: end})
	want := []string{"```console\none\ntwo\n```", "the turn was cancelled"}
	if got := shownTexts(updates[len(updates)-1]); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A command's title is the command, as it is.
func TestCommandsAreTheirTitles(t *testing.T) {
	for args, want := range map[string]string{
		`{"command":"echo ` + "`date`" + `"}`:            "echo `date`",
		`{"command":"ls","cwd":"/w"}`:                    "ls",
		`{"command":"ls","cwd":"sub"}`:                   "ls (in sub)",
		`{"command":"make","background":true}`:           "make (in the background)",
		`{"command":"a\nb"}`:                             "a⏎b",
		`{"command":"` + strings.Repeat("x", 170) + `"}`: strings.Repeat("x", 160) + " … and 10 more characters",
		`{}`: "Run a command",
	} {
		c := core.Call{ID: "c", Server: core.Native, Tool: shellTool, Kind: core.KindExecute, Title: "Run a command", Args: json.RawMessage(args), State: core.Awaiting}
		if got := sent(t, testView(), core.CallChanged{Call: c})[0]["title"]; got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// The command of an agent that works on a task is shown with the agent's name.
func TestCommandsOfSubagentsNameTheAgent(t *testing.T) {
	c := core.Call{ID: "s2/c", Child: "s2", Server: core.Native, Tool: shellTool, Kind: core.KindExecute, Title: "general: Run `ls`", Args: json.RawMessage(`{"command":"ls"}`)}
	if got := title(testView(), c); got != "general: ls" {
		t.Errorf("%q", got)
	}
}

// A client names a terminal after its program until it gets a title once more.
func TestTitleIsSentAgainAfterTheTerminal(t *testing.T) {
	v := testView()
	v.Display.Terminals = "mine:"
	c := core.Call{ID: "c", Server: core.Native, Tool: shellTool, Kind: core.KindExecute, Args: json.RawMessage(`{"command":"ls"}`), State: core.Running}
	shown := c
	shown.Content = []core.Block{core.Terminal{ID: "mine:t1"}}
	updates := sent(t, v, core.CallChanged{Call: c}, core.CallChanged{Call: shown})
	if len(updates) != 3 || updates[1]["content"] == nil || updates[2]["title"] != "ls" || updates[2]["content"] != nil {
		t.Errorf("%v", updates)
	}
}

// The session's own folder is no location of a call.
func TestOwnFolderIsNoLocation(t *testing.T) {
	c := core.Call{ID: "c", Kind: core.KindSearch, State: core.Running, Locations: []core.Location{{Path: "/w"}}}
	if got := sent(t, testView(), core.CallChanged{Call: c})[0]["locations"]; got != nil {
		t.Errorf("%v", got)
	}
	c.Locations[0].Path = "/w/sub"
	if got := sent(t, testView(), core.CallChanged{Call: c})[0]["locations"]; got == nil {
		t.Error("a folder that was asked for is missing")
	}
}

// A change of the plan is shown as the plan; its call only if it failed, or somebody is asked.
func TestPlanIsShownOnce(t *testing.T) {
	c := core.Call{ID: "c", Server: core.Native, Tool: planTool, Kind: core.KindThink, State: core.Proposed}
	end := c
	end.State = core.Succeeded
	v := testView()
	updates := sent(t, v, core.CallChanged{Call: c}, core.PlanChanged{Entries: []core.PlanEntry{{Text: "look"}}}, core.CallChanged{Call: end})
	if len(updates) != 1 || updates[0]["sessionUpdate"] != "plan" {
		t.Errorf("%v", updates)
	}
	for _, state := range []core.CallState{core.Awaiting, core.Errored, core.Rejected} {
		c.State = state
		if updates := sent(t, testView(), core.CallChanged{Call: c}); len(updates) != 1 || updates[0]["sessionUpdate"] != "tool_call" {
			t.Errorf("%s: %v", state, updates)
		}
	}
}

// A consent of several lines is whole in the title, because some clients show nothing else, and
// its lines are in the content as they are.
func TestLongConsentsAreShownWhole(t *testing.T) {
	v := testView()
	a := core.Ask{ID: "q", Kind: core.AskConsent, Text: "Start 2 servers?\none: a_b *x*\ntwo: c"}
	want := []string{"```\none: a_b *x*\ntwo: c\n```"}
	update := sent(t, v, core.Asked{Ask: a})[0]
	if update["title"] != a.Text || !slices.Equal(shownTexts(update), want) {
		t.Errorf("%v", update)
	}
	if call := Consent(v, a).ToolCall; call.Title != a.Text || len(call.Content) != 1 {
		t.Errorf("%+v", call)
	}
}
