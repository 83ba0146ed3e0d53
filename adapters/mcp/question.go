package mcp

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// An agent's question is put like an approval: as a form with a field for a choice, a field for any text, or both; to a
// client without forms as a pending question of the result, which agent_approve answers. A form must not ask for a secret
// (Client, Elicitation), and a calling model must not pass one on.
const (
	fieldChoice = "choice"
	fieldText   = "text"
)

// opened is the answer to a question that is a page to open.
const opened = "opened"

// optionsOf are the answers that a question offers. None: any text.
func optionsOf(a core.Ask) []core.Option {
	if a.URL != "" {
		return []core.Option{{ID: opened, Label: "The page was opened, and all is done there"}}
	}
	return a.Options
}

// freeform reports whether any text answers a question.
func freeform(a core.Ask) bool { return a.URL == "" && (a.Freeform || len(a.Options) == 0) }

// inWords is a question as it is read.
func inWords(a core.Ask) string { return strings.TrimSpace(a.Text + "\n" + a.URL) }

// questionForm is the schema of the answer to a question.
func questionForm(version string, a core.Ask) json.RawMessage {
	b := []byte(`{"type":"object","properties":{`)
	options, required := optionsOf(a), fieldText
	if len(options) > 0 {
		b = append(b, `"`+fieldChoice+`":{"type":"string","title":"Answer",`...)
		b = append(appendOptions(b, version, options), '}')
		if required = fieldChoice; freeform(a) {
			required = ""
			b = append(b, `,"`+fieldText+`":{"type":"string","title":"Another answer","description":"In your own words."}`...)
		}
	} else {
		b = append(b, `"`+fieldText+`":{"type":"string","title":"Answer"}`...)
	}
	b = append(b, '}')
	if required != "" {
		b = append(b, `,"required":["`+required+`"]`...)
	}
	return append(b, '}')
}

// appendOptions appends a choice. Choices have had titles in this way since 2025-11-25.
func appendOptions(b []byte, version string, options []core.Option) []byte {
	title := func(o core.Option) string {
		if o.Description == "" {
			return line(o.Label, maxSummary)
		}
		return line(o.Label+": "+o.Description, maxSummary)
	}
	if version >= proto.Titles {
		b = append(b, `"oneOf":[`...)
		for i, o := range options {
			if i > 0 {
				b = append(b, ',')
			}
			b = wire.AppendString(append(b, `{"const":`...), o.ID)
			b = append(wire.AppendString(append(b, `,"title":`...), title(o)), '}')
		}
		return append(b, ']')
	}
	names := []byte(`],"enumNames":[`)
	b = append(b, `"enum":[`...)
	for i, o := range options {
		if i > 0 {
			b, names = append(b, ','), append(names, ',')
		}
		b, names = wire.AppendString(b, o.ID), wire.AppendString(names, title(o))
	}
	return append(append(b, names...), ']')
}

// reply is what a user's answer to a form says to a question. What is no answer declines; to dismiss a question does not
// stop the turn.
func reply(a core.Ask, r *mcp.ElicitResult) core.Reply {
	if r.Action != proto.ActionAccept {
		return core.Reply{Outcome: core.OutcomeDeclined}
	}
	choice, _ := r.Content[fieldChoice].(string)
	text, _ := r.Content[fieldText].(string)
	if text = strings.TrimSpace(text); !freeform(a) {
		text = ""
	}
	if !slices.ContainsFunc(optionsOf(a), func(o core.Option) bool { return o.ID == choice }) {
		choice = ""
	}
	if choice == "" && text == "" {
		return core.Reply{Outcome: core.OutcomeDeclined}
	}
	if a.URL != "" { // the answer says only that it was opened
		choice = ""
	}
	return core.Reply{Outcome: core.OutcomeAnswered, Option: choice, Text: text}
}

// replyInWords is what the calling model passes on: an option's id or label, or any text. ok is false where it is none of
// the answers that there are.
func replyInWords(a core.Ask, answer string) (r core.Reply, ok bool) {
	answer = strings.TrimSpace(answer)
	options := optionsOf(a)
	i := slices.IndexFunc(options, func(o core.Option) bool { return o.ID == answer || strings.EqualFold(o.Label, answer) })
	switch {
	case i >= 0 && a.URL != "":
		return core.Reply{Outcome: core.OutcomeAnswered}, true
	case i >= 0:
		return core.Reply{Outcome: core.OutcomeAnswered, Option: options[i].ID}, true
	case answer == "" || !freeform(a):
		return r, false
	}
	return core.Reply{Outcome: core.OutcomeAnswered, Text: answer}, true
}

// pendingQuestion is a question in a result.
type pendingQuestion struct {
	ID       core.AskID `json:"approval_id"`
	Question string     `json:"question"`
	Options  []string   `json:"options,omitempty"` // their labels
	Freeform bool       `json:"freeform"`
	Note     string     `json:"note,omitempty"` // why agent_approve takes nothing but a no
}

func pendingOf(a core.Ask) pendingQuestion {
	p := pendingQuestion{ID: a.ID, Question: inWords(a), Freeform: freeform(a)}
	for _, o := range optionsOf(a) {
		p.Options = append(p.Options, o.Label)
	}
	return p
}

// answers words what may be said to a question.
func (p pendingQuestion) answers() string {
	var all []string
	for _, o := range p.Options {
		all = append(all, `"`+o+`"`)
	}
	if p.Freeform {
		all = append(all, "any text")
	}
	return strings.Join(all, ", ")
}
