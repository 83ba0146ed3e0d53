package tools

import (
	"context"
	"strconv"

	"dragoman/core"
	"dragoman/core/display"
)

var askSpec = core.Spec{
	Server: core.Native,
	Name:   "ask_user",
	Title:  "Ask the user",
	Description: "Asks the user a question and waits for the answer. Use it when the work cannot go on without a decision that only the user can " +
		"make.",
	Schema: []byte(`{
  "type": "object",
  "properties": {
    "question": {"type": "string"},
    "options": {
      "type": "array",
      "description": "Answers to choose from.",
      "maxItems": 20,
      "items": {
        "type": "object",
        "properties": {"label": {"type": "string"}, "description": {"type": "string"}},
        "required": ["label"],
        "additionalProperties": false
      }
    },
    "freeform": {"type": "boolean", "description": "Whether any text may be the answer. Default true."}
  },
  "required": ["question"],
  "additionalProperties": false
}`),
	Kind:     core.KindOther,
	ReadOnly: true,
}

func (s *toolset) prepareAsk(_ context.Context, a *args) (*step, error) {
	ask := core.Ask{Kind: core.AskQuestion, Text: a.text("question"), Later: true}
	a.objects("options", false, 20, "label", func(a *args) {
		ask.Options = append(ask.Options, core.Option{
			ID: strconv.Itoa(len(ask.Options) + 1), Label: a.text("label"), Description: a.optText("description", ""),
		})
	})
	ask.Freeform = a.boolean("freeform", true)
	if ask.Text == "" {
		a.fail("argument %q is empty", "question")
	}
	if !ask.Freeform && len(ask.Options) == 0 {
		a.fail("argument %q must not be false where there are no options", "freeform")
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	short, _ := display.Clip(visible(ask.Text), titleMax)
	return &step{
		Preview: core.Preview{Title: "Ask: " + short},
		run: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
			ask.Turn, ask.Call = inv.Turn, inv.Call
			r, err := s.host.Ask(ctx, ask)
			if err != nil {
				return core.Result{}, err
			}
			return answer(ask, r), nil
		},
	}, nil
}

// answer describes a reply for the model.
func answer(ask core.Ask, r core.Reply) core.Result {
	switch r.Outcome {
	case core.OutcomeAnswered:
		said := r.Text
		for _, o := range ask.Options {
			if r.Option != "" && o.ID == r.Option {
				said = o.Label
				if r.Text != "" && r.Text != o.Label {
					said += "\n" + r.Text
				}
			}
		}
		return text("The user answered: " + said)
	case core.OutcomeDeclined:
		return text("The user does not want to answer this.")
	case core.OutcomeLater:
		return text(core.AskedLater)
	case core.OutcomeExpired:
		return text("Nobody answered in time. Go on without the answer where that is possible, and say what you assumed.")
	case core.OutcomeAlone:
		return text("Nobody can be asked here. Go on without the answer where that is possible, and say what you assumed.")
	case core.OutcomeCanceled:
	case core.OutcomeDecided: // only for approvals, never for questions
	}
	res := text("The question was withdrawn.")
	res.Failed = true
	return res
}
