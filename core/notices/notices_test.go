package notices_test

import (
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/notices"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		ev   core.Event
		want core.Notice
	}{
		{core.Notice{Severity: core.Failure, Text: "disk full"}, core.Notice{Severity: core.Failure, Text: "disk full"}},
		{core.Missing{Records: 5, Text: "5 records are missing"}, core.Notice{Severity: core.Warning, Text: "5 records are missing"}},
		{core.FellBack{Model: "a/b", Instead: "c/d", Reason: "overloaded"}, core.Notice{Severity: core.Warning, Text: "a/b could not answer, so c/d is asked instead: overloaded"}},
		{core.Instructed{File: "/w/AGENTS.md", Text: "long"}, core.Notice{Severity: core.Info, Text: "The agent has read the instructions in /w/AGENTS.md."}},
		{core.Briefed{Agent: "bob", Text: "hello"}, core.Notice{Severity: core.Info, Text: "Agent bob was told:\n\nhello"}},
		{core.Compacted{Auto: true, Before: 9000, After: 400}, core.Notice{Severity: core.Info, Text: "The model's window was nearly full, so the conversation was compacted from 9000 to 400 tokens. The agent continues with a summary of the conversation above."}},
		{core.Compacted{}, core.Notice{Severity: core.Info, Text: "The agent continues with a summary of the conversation above."}},
		{core.Reverted{Files: []core.RevertedFile{{Path: "/a"}, {Path: "/b", Why: "it has changed since"}}}, core.Notice{Severity: core.Info, Text: "File changes that were undone:\n- /a\nFiles that were left as they are:\n- /b: it has changed since"}},
		{core.Reverted{}, core.Notice{Severity: core.Info, Text: "There were no file changes to undo."}},
		{core.Cited{Link: core.Link{URI: "https://a.example", Title: "A"}}, core.Notice{Severity: core.Info, Text: "Source: A https://a.example"}},
		{core.Foreign{Text: "an update"}, core.Notice{Severity: core.Info, Text: "an update"}},
	} {
		if n, ok := notices.Of(c.ev); !ok || n != c.want || notices.Text(c.ev) != c.want.Text {
			t.Errorf("%T: %v %+v", c.ev, ok, n)
		}
	}
	if n, ok := notices.Of(core.TextDelta{Text: "a"}); ok || notices.Text(nil) != "" {
		t.Errorf("text is shown as a notice: %+v", n)
	}
}

func TestPause(t *testing.T) {
	for after, want := range map[time.Duration]string{0: "1s", 1600 * time.Millisecond: "2s", 90 * time.Second: "1m30s"} {
		if got := notices.Pause(core.Phase{After: after}); got != want {
			t.Errorf("%v: %s, want %s", after, got, want)
		}
	}
}
