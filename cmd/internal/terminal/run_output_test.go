package terminal

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/notices"
)

// Every event that has a notice is a line of standard error.
func TestRunShowsNotices(t *testing.T) {
	for _, ev := range []core.Event{
		core.Notice{Severity: core.Warning, Text: "disk nearly full"},
		core.Missing{Records: 1, Text: "1 record is missing"},
		core.FellBack{Model: "a/b", Instead: "c/d", Reason: "down"},
		core.Instructed{File: "/w/AGENTS.md"},
		core.Briefed{Agent: "bob", Text: "hello"},
	} {
		var errs strings.Builder
		o := &runOutput{out: bufio.NewWriter(io.Discard), errs: &errs}
		o.record(core.Record{Seq: 1, Event: ev})
		want, _, _ := strings.Cut(notices.Text(ev), "\n")
		if want == "" || !strings.Contains(errs.String(), want) {
			t.Errorf("%T: %q, want %q", ev, errs.String(), want)
		}
	}
}
