package core

import (
	"cmp"
	"context"
)

// Continuation is the outcome of Turn.AskToContinue.
type Continuation uint8

const (
	Unasked Continuation = iota // nobody can be asked; the zero value, so that nothing goes on by mistake
	Stop                        // a person has said so, or has not answered in time
	GoOn
)

// The options of AskToContinue.
const (
	optionGoOn = "go_on"
	optionStop = "stop"
)

// AskToContinue pauses the turn, and asks a person whether it goes on. text says why it has paused, and
// more how far it would go on. No rule, trust, earlier answer or program answers. The question
// of a task is put to the user of the session that delegated it. It blocks until it is settled; an error
// means that the turn must end.
func (t *Turn) AskToContinue(ctx context.Context, text, more string) (Continuation, error) {
	return t.AskToAgree(ctx, text, more, "")
}

// AskToAgree is AskToContinue; a person who lets the turn go on agrees to something for the session
// (State.Agreed).
func (t *Turn) AskToAgree(ctx context.Context, text, more, agreed string) (Continuation, error) {
	r, err := t.Root().Ask(ctx, Ask{
		Kind: AskConsent, Text: text, Hard: true, Person: true, Remember: agreed,
		Options: []Option{
			{ID: optionGoOn, Label: "Go on", Description: more, Decision: AllowOnce},
			{ID: optionStop, Label: "Stop", Decision: RejectOnce},
		},
	})
	switch {
	case err != nil:
		return Stop, err
	case r.Outcome == OutcomeCanceled: // its turn has ended
		return Stop, cmp.Or(context.Cause(t.ctx), ErrOver)
	case r.Outcome == OutcomeAlone:
		return Unasked, nil
	case r.Outcome == OutcomeAnswered && r.Option == optionGoOn:
		return GoOn, nil
	}
	return Stop, nil
}
