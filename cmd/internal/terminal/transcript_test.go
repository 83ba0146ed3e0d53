package terminal

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/core"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Every kind of event has its place in a transcript, or is deliberately left out.
func TestTranscriptOfEveryEvent(t *testing.T) {
	var b bytes.Buffer
	tr := NewTranscript(&b)
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	for _, ev := range []core.Event{
		core.TurnStarted{Turn: "t", Origin: core.Origin{Client: "Zed 1.0"}, Prompt: []core.Block{core.Text{Text: "hello"}, core.Link{URI: "file:///a.go"}}},
		core.ThoughtDelta{Thought: "h", Text: "hm"},
		core.ThoughtDelta{Thought: "h", Text: "m"},
		core.TextDelta{Message: "m", Text: "an "},
		core.TextDelta{Message: "m", Text: "answer"},
		core.Steered{Prompt: []core.Block{core.Text{Text: "and quickly"}}},
		core.CallChanged{Call: core.Call{ID: "c", Tool: "edit_file", Title: "Edit a.go", State: core.Running}},
		core.CallChanged{Call: core.Call{ID: "c", Tool: "edit_file", Title: "Edit a.go", State: core.Succeeded, Why: "allowed by Zed", Content: []core.Block{core.Diff{Path: "/a.go", Patch: "-a\n+b\n"}}}},
		core.CallChanged{Call: core.Call{ID: "d", Tool: "shell_command", State: core.Rejected, Why: "rejected"}},
		core.CallChanged{Call: core.Call{ID: "e", Tool: "shell_command", State: core.Canceled}},
		core.CallChanged{Call: core.Call{ID: "f", Tool: "x", State: core.Errored, Why: "broke", Content: []core.Block{core.Text{Text: "```\n" + strings.Repeat("line\n", 30)}}}},
		core.Asked{Ask: core.Ask{Kind: core.AskQuestion, Text: "which?"}},
		core.Answered{Reply: core.Reply{Outcome: core.OutcomeAnswered, Text: "that"}},
		core.PlanChanged{Entries: []core.PlanEntry{{Text: "look", Status: core.PlanDone}, {Text: "leap", Status: core.PlanActive}, {Text: "rest", Status: core.PlanPending}}},
		core.Notice{Severity: core.Warning, Text: "careful"},
		core.Missing{Records: 2, Text: "2 records are missing here."},
		core.FellBack{Turn: "t", Model: "groq/x", Instead: "openai/y", Reason: "overloaded (HTTP 503): down"},
		core.Truncated{},
		core.TurnEnded{Turn: "t", Stop: core.StopError, Err: "no money"},
		core.TurnEnded{Stop: core.StopCanceled},
		core.TurnEnded{Stop: core.StopInterrupted},
		core.TurnEnded{Stop: core.StopEnd},
		core.TurnEnded{Stop: core.StopTokens},
		core.TurnEnded{Stop: core.StopRequests},
		core.TurnEnded{Stop: core.StopRefusal},
	} {
		tr.Record(core.Record{Time: at, Event: ev})
	}
	if err := tr.End(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "transcript.md")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("%s differs; run go test ./cmd/internal/terminal -update and read the difference\n-- want --\n%s-- got --\n%s", path, want, got)
	}
}
