// Package forms turns the questions of the core into forms, or forms into questions.
//
// [Of] turns a question of core into a form, and the user's input into a reply. Such a form
// has a field for a choice, a field for any text, or both. A question that is a page to open
// is a choice of one: that it was opened. A form must not ask for a secret; a question
// without a form stays unanswered. The protocols define how a form is written.
//
// [Fields] reads a form from somebody else, such as an MCP server's elicitation: the schema
// of its answer. Each [Field] is put to the user as a question of core, which every client
// can show. Its value comes from the reply and is checked against the schema. The caller
// decides who asks, how often, and how the server is answered.
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
	Options  []core.Option // of the field Choice; none: the form has no such field
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

// Reply returns the reply that the two fields contain. Input that is not an answer declines,
// and so does a text for a form without a field for it.
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

// ReplyTo returns the reply in the content of a client's answer to the form. Content that
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

// ReplyInWords returns the reply in an answer in words: an option's label or id, or any text
// if the form accepts that. ok is false if it is not one of the possible answers.
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
