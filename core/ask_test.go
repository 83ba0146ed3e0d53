package core

import (
	"testing"
)

// An id that names none or several of the answers chooses none: what a person rejects is not
// allowed by an agent that gives two answers one id.
func TestOption(t *testing.T) {
	a := Ask{Options: []Option{
		{ID: "a", Decision: AllowOnce},
		{ID: "b", Decision: AllowOnce},
		{ID: "b", Decision: RejectOnce},
		{ID: "", Decision: AllowOnce},
	}}
	for id, want := range map[string]Decision{"a": AllowOnce, "b": "", "": "", "c": ""} {
		if o, ok := a.Option(id); o.Decision != want || ok != (want != "") {
			t.Errorf("%q: got %q, %t", id, o.Decision, ok)
		}
	}
}

// An approval with answers of its own is not put to a client that has only ours and cannot be asked
// questions either.
func TestFixedAnswers(t *testing.T) {
	wide := []Option{{ID: "a", Decision: AllowOnce}, {ID: "b"}}
	fits := []Option{{ID: "a", Decision: AllowOnce}, {ID: "b", Decision: RejectOnce}}
	for _, c := range []struct {
		client  Client
		options []Option
		asked   bool
	}{
		{Client{Asks: true}, wide, true},
		{Client{Asks: true, FixedAnswers: true}, wide, false},
		{Client{Asks: true, FixedAnswers: true, Questions: true}, wide, true},
		{Client{Asks: true, FixedAnswers: true}, fits, true},
		{Client{Asks: true, FixedAnswers: true}, nil, true},
		{Client{Questions: true}, fits, false},
	} {
		c.client.Role = Decide
		if got := c.client.canAsk(Ask{Kind: AskApproval, Options: c.options}); got != c.asked {
			t.Errorf("%+v, %d options: asked: %t", c.client, len(c.options), got)
		}
	}
}
