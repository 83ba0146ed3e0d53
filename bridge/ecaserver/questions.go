package ecaserver

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
)

// maxOptions limits the answers that a person can be offered.
const maxOptions = 50

// answer is the answer to a question: a text, or null.
type answer struct {
	Answer    *string `json:"answer"`
	Cancelled bool    `json:"cancelled"`
}

// askQuestion puts a question of the server to the user.
func (c *chat) askQuestion(ctx context.Context, params json.RawMessage) (any, error) {
	var q eca.QuestionParams
	if err := wire.Unmarshal(params, &q); err != nil || len(q.Options) > maxOptions {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %d options, %v", eca.MethodAskQuestion, len(q.Options), err)
	}
	a := core.Ask{Kind: core.AskQuestion, Text: display.Seen(q.Question), Freeform: q.AllowFreeform || len(q.Options) == 0}
	for i, o := range q.Options {
		a.Options = append(a.Options, core.Option{ID: strconv.Itoa(i + 1), Label: o.Label, Description: o.Description})
	}
	reply, err := c.host.Ask(ctx, a)
	if err != nil || reply.Outcome != core.OutcomeAnswered {
		return answer{Cancelled: true}, nil
	}
	text := reply.Text
	if o, ok := a.Option(reply.Option); ok {
		text = o.Label
	}
	return answer{Answer: &text}, nil
}
