package forms

import (
	"encoding/json"
	"testing"

	"dragoman/core"
)

var two = []core.Option{{ID: "1", Label: "This"}, {ID: "2", Label: "That"}}

// An answer is one of those that were asked for, or it declines.
func TestReply(t *testing.T) {
	declined := core.Reply{Outcome: core.OutcomeDeclined}
	said := func(option, text string) core.Reply {
		return core.Reply{Outcome: core.OutcomeAnswered, Option: option, Text: text}
	}
	text, choice, both := core.Ask{Text: "What?"}, core.Ask{Options: two}, core.Ask{Options: two, Freeform: true}
	page := core.Ask{Text: "Log in", URL: "https://x/", Freeform: true}
	for _, c := range []struct {
		a            core.Ask
		choice, text string
		want         core.Reply
	}{
		{text, "", " so ", said("", "so")},
		{text, "1", "", declined},
		{text, "", " \n", declined},
		{choice, "2", "", said("2", "")},
		{choice, "3", "", declined},
		{choice, "", "That", declined}, // it was not asked for
		{choice, "2", "and more", said("2", "")},
		{both, "", "neither", said("", "neither")},
		{both, "1", "but", said("1", "but")},
		{both, "3", "but", said("", "but")},
		{page, "opened", "", said("", "")},
		{page, "", "done", declined},
	} {
		if got := Of(c.a).Reply(c.choice, c.text); got != c.want {
			t.Errorf("%+v, %q, %q: got %+v, want %+v", c.a, c.choice, c.text, got, c.want)
		}
	}
}

// The content of an answer is read by exact names; what can be read in two ways declines.
func TestReplyTo(t *testing.T) {
	declined := core.Reply{Outcome: core.OutcomeDeclined}
	both := Of(core.Ask{Options: two, Freeform: true})
	for content, want := range map[string]core.Reply{
		`{"choice":"1"}`:                {Outcome: core.OutcomeAnswered, Option: "1"},
		`{"choice":"1","text":" but "}`: {Outcome: core.OutcomeAnswered, Option: "1", Text: "but"},
		`{"text":"but","x":[1]}`:        {Outcome: core.OutcomeAnswered, Text: "but"},
		`{"choice":null,"text":"but"}`:  {Outcome: core.OutcomeAnswered, Text: "but"},
		`{"choice":"3"}`:                declined,
		`{"choice":1}`:                  declined,
		`{"choice":["1"],"text":"but"}`: declined,
		`{"choice":"1","choice":"2"}`:   declined,
		`{"choice":"1","Choice":"2"}`:   declined,
		`{"text":"a","\u0074ext":"b"}`:  declined,
		`{"Text":"a"}`:                  declined,
		`{}`:                            declined,
		`null`:                          declined,
		``:                              declined,
		`"1"`:                           declined,
		`{"choice":"1"`:                 declined,
	} {
		if got := both.ReplyTo(json.RawMessage(content)); got != want {
			t.Errorf("%s: got %+v, want %+v", content, got, want)
		}
	}
}

func TestReplyInWords(t *testing.T) {
	for _, c := range []struct {
		a      core.Ask
		answer string
		want   core.Reply
		ok     bool
	}{
		{core.Ask{Options: two}, " this", core.Reply{Outcome: core.OutcomeAnswered, Option: "1"}, true},
		{core.Ask{Options: two}, "2", core.Reply{Outcome: core.OutcomeAnswered, Option: "2"}, true},
		{core.Ask{Options: two}, "other", core.Reply{}, false},
		{core.Ask{Options: []core.Option{{ID: "2", Label: "1"}, {ID: "1", Label: " No "}}}, "1", core.Reply{Outcome: core.OutcomeAnswered, Option: "2"}, true},
		{core.Ask{Options: []core.Option{{ID: "2", Label: "1"}, {ID: "1", Label: " No "}}}, "no", core.Reply{Outcome: core.OutcomeAnswered, Option: "1"}, true},
		{core.Ask{Options: two, Freeform: true}, "other", core.Reply{Outcome: core.OutcomeAnswered, Text: "other"}, true},
		{core.Ask{}, " ", core.Reply{}, false},
		{core.Ask{URL: "https://x/"}, "opened", core.Reply{Outcome: core.OutcomeAnswered}, true},
		{core.Ask{URL: "https://x/"}, "no", core.Reply{}, false},
	} {
		if got, ok := Of(c.a).ReplyInWords(c.answer); got != c.want || ok != c.ok {
			t.Errorf("%+v, %q: got %+v, %t", c.a, c.answer, got, ok)
		}
	}
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		a        core.Ask
		question string
		options  int
		freeform bool
		required string
	}{
		{core.Ask{Text: "What?"}, "What?", 0, true, Text},
		{core.Ask{Text: "Which?", Options: two}, "Which?", 2, false, Choice},
		{core.Ask{Text: "Which?", Options: two, Freeform: true}, "Which?", 2, true, ""},
		{core.Ask{Text: "Log in", URL: "https://x/"}, "Log in\nhttps://x/", 1, false, Choice},
	} {
		f := Of(c.a)
		if f.Question != c.question || len(f.Options) != c.options || f.Freeform != c.freeform || f.Required != c.required {
			t.Errorf("%+v: got %+v", c.a, f)
		}
	}
}
