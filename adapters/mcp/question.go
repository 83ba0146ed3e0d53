package mcp

import (
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
