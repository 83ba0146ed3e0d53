package mcp

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/forms"
)

// An agent's question is put like an approval: as a form with a field for a choice, a field for
// any text, or both; to a client without forms as a pending question in the result, which
// agent_approve answers. A form must not ask for a secret (Client, Elicitation), and a calling
// model must not pass one on.

// questionForm is the schema of the answer to a question.
func questionForm(version string, f forms.Form) json.RawMessage {
	b := []byte(`{"type":"object","properties":{`)
	if len(f.Options) > 0 {
		b = append(b, `"`+forms.Choice+`":{"type":"string","title":"Answer",`...)
		b = append(appendOptions(b, version, f.Options), '}')
	}
	switch {
	case len(f.Options) == 0:
		b = append(b, `"`+forms.Text+`":{"type":"string","title":"Answer"}`...)
	case f.Freeform:
		b = append(b, `,"`+forms.Text+`":{"type":"string","title":"Another answer","description":"In your own words."}`...)
	}
	b = append(b, '}')
	if f.Required != "" {
		b = append(b, `,"required":["`+f.Required+`"]`...)
	}
	return append(b, '}')
}

// appendOptions appends a choice. Since 2025-11-25 choices have titles in this form.
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

// reply turns a user's answer to a form into the reply to its question. Dismissing a question does
// not stop the turn.
func reply(a core.Ask, r *mcp.ElicitResult) core.Reply {
	if r.Action != proto.ActionAccept {
		return core.Reply{Outcome: core.OutcomeDeclined}
	}
	return forms.Of(a).ReplyTo(wire.JSON(r.Content))
}

// pendingQuestion is a question in a result.
type pendingQuestion struct {
	ID       core.AskID `json:"approval_id"`
	Question string     `json:"question"`
	Options  []string   `json:"options,omitempty"` // their labels
	Freeform bool       `json:"freeform"`
	Note     string     `json:"note,omitempty"` // the reason why agent_approve can only reject
}

func pendingOf(a core.Ask) pendingQuestion {
	f := forms.Of(a)
	p := pendingQuestion{ID: a.ID, Question: f.Question, Freeform: f.Freeform}
	for _, o := range f.Options {
		p.Options = append(p.Options, o.Label)
	}
	return p
}

// answers describes the possible answers to a question.
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
