// Package forms turns the questions of the core into forms, or forms into questions.
//
// [Of] makes a form of a question of the core's, and replies of what a user puts into
// it. Such a form has a field for a choice, a field for any text, or both. A question
// that is a page to open is a choice of one: that it was opened. A form must not ask for
// a secret, and whoever has no form for a question leaves it unanswered. How a form is
// written is the protocols' affair.
//
// [Fields] reads a form that somebody else has written, as an MCP server does in an
// elicitation: the schema of its answer. Each [Field] is put to the user as a question
// of the core's, since that is what every client can show, and its value is made of the
// reply and checked against the schema. Who asks, how often, and what the server is then
// answered is decided elsewhere.
package forms

import (
	"encoding/json"
	"slices"
	"strings"

	"dragoman/core"
)

// The names of the fields.
const (
	Choice = "choice"
	Text   = "text"
)

// Form is a question as it is put to a user.
type Form struct {
	Question string        // with the address of a page, if it is one
	Options  []core.Option // of the field Choice; none: there is no such field
	Freeform bool          // there is a field Text
	Required string        // the field that has to be filled in; "": either

	page bool
}

// opened is the answer to a question that is a page to open.
const opened = "opened"

// Of returns the form for a question.
func Of(a core.Ask) Form {
	f := Form{
		Question: strings.TrimSpace(a.Text + "\n" + a.URL), Options: a.Options,
		Freeform: a.Freeform || len(a.Options) == 0, page: a.URL != "",
	}
	if f.page {
		f.Options, f.Freeform = []core.Option{{ID: opened, Label: "The page was opened, and all is done there"}}, false
	}
	switch {
	case len(f.Options) == 0:
		f.Required = Text
	case !f.Freeform:
		f.Required = Choice
	}
	return f
}

// Reply returns what the two fields say. What is no answer declines; a text where none
// was asked for is none.
func (f Form) Reply(choice, text string) core.Reply {
	if text = strings.TrimSpace(text); !f.Freeform {
		text = ""
	}
	if !f.Offers(choice) {
		choice = ""
	}
	switch {
	case choice == "" && text == "":
		return core.Reply{Outcome: core.OutcomeDeclined}
	case f.page: // the answer says only that it was opened
		choice = ""
	}
	return core.Reply{Outcome: core.OutcomeAnswered, Option: choice, Text: text}
}

// ReplyTo returns what the content of a client's answer to the form says. A content that
// names a field twice, or in another case, or gives it a value of another type declines.
func (f Form) ReplyTo(content json.RawMessage) core.Reply {
	var choice, text string
	if decode(content, targets{Choice: &choice, Text: &text}) != nil {
		return core.Reply{Outcome: core.OutcomeDeclined}
	}
	return f.Reply(choice, text)
}

// Offers reports whether an id is that of an option.
func (f Form) Offers(id string) bool {
	return id != "" && slices.ContainsFunc(f.Options, func(o core.Option) bool { return o.ID == id })
}

// ReplyInWords returns what an answer in words says: an option's label or id, or any
// text where that is asked for. ok is false if it is none of the answers that there are.
func (f Form) ReplyInWords(answer string) (r core.Reply, ok bool) {
	answer = strings.TrimSpace(answer)
	if answer == "" {
		return r, false
	}
	for _, same := range []func(core.Option) bool{
		func(o core.Option) bool { return o.Label == answer },
		func(o core.Option) bool { return o.ID == answer },
		func(o core.Option) bool { return strings.EqualFold(strings.TrimSpace(o.Label), answer) },
	} {
		if i := slices.IndexFunc(f.Options, same); i >= 0 {
			return f.Reply(f.Options[i].ID, ""), true
		}
	}
	if !f.Freeform {
		return r, false
	}
	return f.Reply("", answer), true
}
