package eca

import (
	"context"
	"encoding/json"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/display"
)

// agrees asks the user whether a page on this machine may be fetched for the agent. Without a
// client that shows questions the answer is no. It blocks until the user has answered or ctx ends.
func (c *chat) agrees(ctx context.Context, url string) bool {
	const fetch = "fetch"
	s := c.srv
	if !s.peerNow().asks() {
		return false
	}
	ask := core.Ask{
		Kind: core.AskConsent,
		Text: "The page " + display.Visible(url) + " is on this machine. Fetch it for the agent?",
		Options: []core.Option{
			{ID: fetch, Label: "Fetch it", Decision: core.AllowOnce},
			{ID: "no", Label: "Do not fetch it", Decision: core.RejectOnce},
		},
	}
	p := eca.QuestionParams{ChatID: string(c.id), Question: ask.Text}
	for _, o := range ask.Options {
		p.Options = append(p.Options, eca.QuestionOption{Label: o.Label})
	}
	answer := make(chan core.Reply, 1) // one reply that need not be received
	asked, err := s.conn.Start(eca.MethodAskQuestion, p, func(result json.RawMessage, err error) {
		answer <- replyTo(ask, result, err)
	})
	if err != nil {
		return false // the connection has ended
	}
	select {
	case r := <-answer:
		return r.Outcome == core.OutcomeAnswered && r.Option == fetch
	case <-ctx.Done():
		asked.Withdraw()
		return false
	}
}
