package terminal

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// answer puts a question to the user and passes the answer on. If ctx ends first, or the
// question's time is over, the turn settles it by itself.
func (c *chat) answer(ctx context.Context, a core.Ask) error {
	pending := func(p core.Ask) bool { return p.ID == a.ID }
	if !slices.ContainsFunc(c.att.Pending(), pending) {
		return nil // settled while another question was answered
	}
	c.screen.question(a)
	if err := c.screen.flush(); err != nil {
		return err
	}
	if a.Secret && c.in.term != nil {
		restore := c.in.term.hide()
		c.hidden = true
		defer func() {
			c.in.discard() // a part of a secret must not become a prompt
			c.hidden = false
			restore()
		}()
	}
	timely, done := context.WithDeadline(ctx, a.Deadline)
	defer done()
	choices := c.screen.choices(a)
	gen := c.beginQuestion(a)
	defer c.in.answered()
	for {
		c.ask(choices)
		line, err := c.line(timely, choices, gen, nil)
		if timely.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, errLeft) {
			return err
		}
		r, ok := reply(a, line, err == nil)
		if !ok {
			c.notAnAnswer(a, line)
			continue
		}
		if !c.tty {
			text := answerText(r)
			if a.Secret && r.Outcome == core.OutcomeAnswered {
				text = "a secret"
			}
			c.screen.line(c.screen.Faint("answered: " + display.Line(text, 100)))
		}
		err = c.att.Answer(context.WithoutCancel(ctx), a.ID, r)
		if errors.Is(err, core.ErrNotAsked) { // settled in the meantime
			err = nil
		}
		return err
	}
}

// beginQuestion begins the generation of a question that is on the screen, and shows the user
// which earlier lines are dropped and which are kept.
func (c *chat) beginQuestion(a core.Ask) (gen int) {
	gen, kept, dropped := c.in.next(func(l inputLine) bool {
		l.pasted = false
		r, ok := reply(a, l, true)
		return a.Secret || ok && r.Text == ""
	})
	const ahead = "Typed before the question was shown"
	switch {
	case a.Secret && len(dropped) > 0: // a line may be a secret
		c.screen.line(
			c.screen.Warm(
				ahead + ", so it is not the answer and was dropped: " + display.Counted(len(dropped), "line"),
			),
		)
	case len(dropped) > 0:
		c.screen.line(c.screen.Warm(ahead + ", so it is not the answer and was dropped: " + heads(dropped)))
	}
	if len(kept) > 0 {
		c.screen.line(
			c.screen.Faint(ahead + "; it becomes the next prompt when this turn has ended: " + heads(kept)),
		)
	}
	return gen
}

// notAnAnswer shows the reason why a line does not answer a question. A paste is kept as a
// prompt.
func (c *chat) notAnAnswer(a core.Ask, line inputLine) {
	if line.pasted && !a.Secret {
		c.in.later(line)
		c.screen.line(
			c.screen.Warm(
				"A paste decides nothing; it becomes the next prompt when this turn has ended: " + heads([]inputLine{line}),
			),
		)
	}
	c.screen.line("Please answer " + c.screen.choices(a))
}

// reply interprets an answer; more is false at the end of the input. A paste may be the text of
// an answer, but never a decision.
func reply(a core.Ask, line inputLine, more bool) (core.Reply, bool) {
	text := strings.TrimSpace(line.text())
	if a.Kind != core.AskApproval {
		return answerTo(a, text, more, line.pasted)
	}
	if line.pasted {
		return core.Reply{}, false
	}
	word := strings.ToLower(text)
	decided := func(d core.Decision) (core.Reply, bool) {
		return core.Reply{Outcome: core.OutcomeDecided, Decision: d}, true
	}
	switch {
	case !more:
		return core.Reply{Outcome: core.OutcomeAlone, Text: "the input ended before an answer came"}, true
	case word == "y" || word == "yes":
		return decided(core.AllowOnce)
	case (word == "s" || word == "session") && a.Remember != "":
		return decided(core.AllowSession)
	case (word == "a" || word == "always") && a.Always:
		return decided(core.AllowAlways)
	case word == "n" || word == "no":
		return decided(core.RejectOnce)
	}
	return core.Reply{}, false
}

// answerTo interprets the answer to a question: an option by its number or its words, or any text
// if that is allowed. An empty line declines.
func answerTo(a core.Ask, line string, more, pasted bool) (core.Reply, bool) {
	if !more || line == "" {
		return core.Reply{Outcome: core.OutcomeDeclined}, true
	}
	if pasted { // it may not choose an option
		return core.Reply{Outcome: core.OutcomeAnswered, Text: line}, a.Freeform || len(a.Options) == 0
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(a.Options) {
		return core.Reply{Outcome: core.OutcomeAnswered, Option: a.Options[n-1].ID}, true
	}
	for _, o := range a.Options {
		if strings.EqualFold(o.Label, line) {
			return core.Reply{Outcome: core.OutcomeAnswered, Option: o.ID}, true
		}
	}
	if a.Freeform || len(a.Options) == 0 {
		return core.Reply{Outcome: core.OutcomeAnswered, Text: line}, true
	}
	return core.Reply{}, false
}

// answerText returns an answer in words.
func answerText(r core.Reply) string {
	switch r.Outcome {
	case core.OutcomeAnswered:
		return r.Option + r.Text
	case core.OutcomeDecided:
		switch r.Decision {
		case core.AllowOnce:
			return "yes"
		case core.AllowSession:
			return "yes, for this session"
		case core.AllowAlways:
			return "yes, always in this folder"
		case core.RejectOnce, core.RejectAlways:
			return strings.TrimSuffix("no: "+r.Text, ": ")
		}
	case core.OutcomeDeclined, core.OutcomeLater, core.OutcomeExpired, core.OutcomeAlone, core.OutcomeCanceled:
	}
	return "nothing"
}
