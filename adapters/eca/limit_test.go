package eca

import (
	"encoding/json"
	"testing"

	"dragoman/core"
)

// A person answers whether a turn at a limit goes on by one of two labels; anything else does not let it go on.
func TestAnswersAtALimit(t *testing.T) {
	a := core.Ask{Kind: core.AskConsent, Person: true, Text: "$1 is spent. Go on?", Options: []core.Option{
		{ID: "go_on", Label: "Go on", Description: "up to $1 more", Decision: core.AllowOnce},
		{ID: "stop", Label: "Stop", Decision: core.RejectOnce},
	}}
	p := (&View{chat: "c1"}).asking(a)
	if p.AllowFreeform || len(p.Options) != 2 || p.Options[0].Label != "Go on" || p.Options[0].Description != "up to $1 more" || p.Question != a.Text {
		t.Errorf("asked %+v", p)
	}
	for answer, option := range map[string]string{
		`{"answer":"Go on"}`: "go_on", `{"answer":"Stop"}`: "stop", `{"answer":"yes, sure"}`: "", `{"cancelled":true,"answer":"Go on"}`: "", `{"answer":null}`: "", `null`: "",
	} {
		if r := replyTo(a, json.RawMessage(answer), nil); r.Option != option {
			t.Errorf("%s: %+v", answer, r)
		}
	}
}
