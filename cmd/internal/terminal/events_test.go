package terminal

import (
	"bufio"
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// Every event of the samples is shown on a screen, by run and in a transcript, or is listed here as
// one that deliberately is not.
func TestEveryEventIsShownOrListed(t *testing.T) {
	const nobody = "Opened Claimed ThoughtStarted ThoughtEnded CallArgs SettingsChanged Archived TitleChanged Bound Expanded Shortened Flagged Offered Unknown"
	silent := map[string]string{
		// The chat shows prompts, questions and answers itself, and what a turn has used.
		"screen": nobody + " TurnStarted Steered PromptQueued Asked Answered UsageChanged Moved",
		// The answer is on stdout. The rest is what run was not asked for, or sums up at its end.
		"run": nobody + " TurnStarted Steered ThoughtDelta CallOutput PlanChanged Answered UsageChanged Moved",
		// A call is in it as it ended.
		"transcript": nobody + " PromptQueued CallOutput Phase UsageChanged Moved",
	}
	var shown, printed, written bytes.Buffer
	s := &screen{w: bufio.NewWriter(&shown)}
	o := &runOutput{out: bufio.NewWriter(&printed), errs: &printed}
	tr := NewTranscript(&written)
	said, seen := map[string]map[string]bool{"screen": {}, "run": {}, "transcript": {}}, map[string]bool{}
	for _, r := range coretest.Records(1, coretest.Samples()...) {
		kind := strings.TrimPrefix(reflect.TypeOf(r.Event).String(), "core.")
		seen[kind] = true
		_, delta := r.Event.(core.TextDelta)
		if !delta {
			s.start()
			tr.block("")
		}
		_ = s.flush()
		_ = tr.w.Flush()
		before := map[string]int{"screen": shown.Len(), "run": printed.Len(), "transcript": written.Len()}
		s.record(r)
		o.record(r)
		tr.Record(r)
		_ = s.flush()
		_ = o.flush()
		_ = tr.w.Flush()
		for where, n := range map[string]int{"screen": shown.Len(), "run": printed.Len(), "transcript": written.Len()} {
			said[where][kind] = said[where][kind] || n > before[where]
		}
	}
	for where, list := range silent {
		for kind := range seen {
			if listed := slices.Contains(strings.Fields(list), kind); said[where][kind] == listed {
				t.Errorf("%s: %s is shown: %v, listed as silent: %v", where, kind, said[where][kind], listed)
			}
		}
	}
}
