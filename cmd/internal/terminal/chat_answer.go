package terminal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// question is a question that the line on the screen answers.
type question struct {
	core.Ask
	gen     int // of the lines that answer it
	choices string
	restore func() // shows what is typed again
}

// wants notes a question that waits for an answer.
func (c *chat) wants(a core.Ask) {
	known := func(b core.Ask) bool { return a.ID == b.ID }
	if !slices.ContainsFunc(c.asks, known) && (c.question == nil || c.question.ID != a.ID) {
		c.asks = append(c.asks, a)
	}
}

// put puts the next question to the user, if there is one and the line is free. A line that was
// begun as a prompt is not turned into an answer: the question waits until it is sent or erased.
func (c *chat) put() error {
	if len(c.asks) == 0 || c.question != nil || c.options.ReadOnly || (c.leaving || !c.tty) && !c.ours() {
		return nil
	}
	a := c.asks[0]
	if !slices.ContainsFunc(c.att.Pending(), func(p core.Ask) bool { return p.ID == a.ID }) {
		c.asks = c.asks[1:] // settled meanwhile
		c.seen = ""
		return nil
	}
	if c.seen != a.ID {
		c.seen = a.ID
		c.screen.question(a)
	}
	q := &question{Ask: a, choices: c.screen.choices(a), restore: func() {}}
	if a.Secret && c.in.term != nil { // before what is typed counts as the answer
		q.restore = c.in.term.hide()
	}
	began, err := c.beginQuestion(q)
	if !began || err != nil {
		q.restore()
		return err
	}
	c.asks, c.seen = c.asks[1:], ""
	c.question = q
	c.hidden = a.Secret && c.in.term != nil
	return c.screen.flush()
}

// beginQuestion begins the generation of a question that is on the screen, and shows the user
// which earlier lines are dropped and which are kept. It reports whether the line was free.
func (c *chat) beginQuestion(q *question) (bool, error) {
	if err := c.screen.flush(); err != nil {
		return false, err
	}
	gen, kept, dropped := c.in.next(c.prompting, func(l inputLine) bool {
		l.pasted = false
		r, ok := reply(q.Ask, l, true)
		return q.Secret || ok && r.Text == ""
	})
	if q.gen = gen; gen == 0 {
		if c.noted != q.ID {
			c.noted = q.ID
			c.screen.line(c.screen.Faint("You can answer when your line is sent or erased."))
		}
		return false, nil
	}
	c.endPrompt()
	const ahead = "Typed before the question was shown"
	switch {
	case q.Secret && len(dropped) > 0: // a line may be a secret
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
	return true, nil
}

// endQuestion takes the question off the line. With drop, what was typed as its answer is dropped.
func (c *chat) endQuestion(drop bool) {
	q := c.question
	if q == nil {
		return
	}
	c.question = nil
	c.screen.clear()
	if drop || c.hidden { // a part of a secret must not become a prompt
		c.in.discard()
	}
	if c.hidden {
		c.hidden = false
		q.restore()
	}
	c.in.answered()
}

// putAside leaves the question of another client's turn to others, so that the line is free.
func (c *chat) putAside() {
	q := c.question
	if q == nil {
		return
	}
	c.endQuestion(true)
	c.aside = append(c.aside, q.Ask)
	c.screen.line(c.screen.Faint("Left to the others; /answer puts the question to you again."))
}

// answerAside puts the questions again that were left to others.
func (c *chat) answerAside(context.Context, string) error {
	asks := c.aside
	c.aside = nil
	for _, a := range asks {
		c.wants(a)
	}
	if len(c.asks) == 0 {
		c.screen.line(c.screen.Faint("No question was left to others."))
	}
	return c.screen.flush()
}

// answer passes a line on as the answer to the question, if it is one; more is false at the end of
// the input.
func (c *chat) answer(ctx context.Context, line inputLine, more bool) error {
	q := c.question
	if cmd, args, ok := local(line.text()); ok && c.options.Attach && c.tty && !line.pasted && q.Kind == core.AskApproval {
		return cmd.run(c, ctx, args)
	}
	r, ok := reply(q.Ask, line, more)
	if !ok {
		c.notAnAnswer(q.Ask, line)
		return c.screen.flush()
	}
	c.endQuestion(false)
	if !c.tty {
		text := answerText(r)
		if q.Secret && r.Outcome == core.OutcomeAnswered {
			text = "a secret"
		}
		c.screen.line(c.screen.Faint("answered: " + display.Line(text, 100)))
	}
	c.mine = q.ID
	err := c.att.Answer(context.WithoutCancel(ctx), q.ID, r)
	if err == nil {
		return nil
	}
	c.mine = "" // somebody else's answer, if there is one, is shown
	if !errors.Is(err, core.ErrNotAsked) {
		return err
	}
	if slices.ContainsFunc(c.att.Pending(), func(p core.Ask) bool { return p.ID == q.ID }) {
		c.screen.failure("The answer was not taken: the process that runs this session takes none from here; answer there.")
	}
	return c.screen.flush()
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

// answered shows the end of a question that this chat has not settled.
func (c *chat) answered(e core.Answered) {
	settled := func(a core.Ask) bool { return a.ID == e.Ask }
	c.asks, c.aside = slices.DeleteFunc(c.asks, settled), slices.DeleteFunc(c.aside, settled)
	secret := false
	if q := c.question; q != nil && q.ID == e.Ask {
		secret = q.Secret
		c.endQuestion(true)
	}
	if c.mine == e.Ask {
		c.mine = ""
		return
	}
	by := display.Line(cmp.Or(e.Reply.By, "another client"), maxName)
	switch e.Reply.Outcome {
	case core.OutcomeDecided:
		c.screen.line(c.screen.Faint(by + " decided: " + display.Line(answerText(e.Reply), 200)))
	case core.OutcomeAnswered:
		text := display.Line(answerText(e.Reply), 200)
		if text == "" || secret {
			c.screen.line(c.screen.Faint(by + " has answered."))
		} else {
			c.screen.line(c.screen.Faint(by + " answered: " + text))
		}
	case core.OutcomeDeclined:
		c.screen.line(c.screen.Faint(by + " did not answer."))
	case core.OutcomeExpired:
		c.screen.line(c.screen.Warm("The time to answer is over."))
	case core.OutcomeLater, core.OutcomeAlone, core.OutcomeCanceled:
	}
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
