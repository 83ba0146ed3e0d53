package terminal

import (
	"testing"

	"dragoman/core"
)

func lineTyped(text string) inputLine {
	return inputLine{keyLine: keyLine{pieces: []piece{{text: text}}}}
}

func TestReply(t *testing.T) {
	approval := core.Ask{Kind: core.AskApproval, Remember: "ls"}
	once := core.Ask{Kind: core.AskApproval}
	choice := core.Ask{Kind: core.AskQuestion, Options: []core.Option{{ID: "a", Label: "Red"}, {ID: "b", Label: "Blue"}}}
	free := core.Ask{Kind: core.AskQuestion, Freeform: true}
	for _, c := range []struct {
		ask  core.Ask
		line string
		more bool
		want core.Reply
		ok   bool
	}{
		{approval, "y", true, core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowOnce}, true},
		{approval, " YES ", true, core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowOnce}, true},
		{approval, "s", true, core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowSession}, true},
		{once, "s", true, core.Reply{}, false},
		{approval, "n", true, core.Reply{Outcome: core.OutcomeDecided, Decision: core.RejectOnce}, true},
		{approval, "", true, core.Reply{}, false},
		{approval, "yeah", true, core.Reply{}, false},
		{approval, "y", false, core.Reply{Outcome: core.OutcomeAlone, Text: "the input ended before an answer came"}, true},
		{choice, "2", true, core.Reply{Outcome: core.OutcomeAnswered, Option: "b"}, true},
		{choice, "red", true, core.Reply{Outcome: core.OutcomeAnswered, Option: "a"}, true},
		{choice, "3", true, core.Reply{}, false},
		{choice, "", true, core.Reply{Outcome: core.OutcomeDeclined}, true},
		{free, "Whatever you like", true, core.Reply{Outcome: core.OutcomeAnswered, Text: "Whatever you like"}, true},
		{free, "", false, core.Reply{Outcome: core.OutcomeDeclined}, true},
	} {
		if got, ok := reply(c.ask, lineTyped(c.line), c.more); got != c.want || ok != c.ok {
			t.Errorf("%+v %q: %+v, %v", c.ask, c.line, got, ok)
		}
	}
}
