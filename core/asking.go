package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"dragoman/core/internal/passed"
)

// defaultAskTimeout is the time for an answer if the profile sets none.
const defaultAskTimeout = time.Hour

// pending is an Ask that somebody in this process waits for.
type pending struct {
	ask    Ask
	done   chan Reply               // holds the one reply
	passed passed.List[*Attachment] // clients that gave no decision on an approval
}

// canAskLocked reports whether anybody attached could settle an ask. A program decides only where it has
// prompted.
func (s *Session) canAskLocked(p *pending) bool {
	return s.clients.Any(func(a *Attachment) bool {
		looks := p.ask.Kind == AskApproval && a.client.Caller != "" && !s.state.callers[a.client.Caller]
		program := p.ask.Person && a.client.Caller != ""
		return a.client.canAsk(p.ask) && !p.passed.Has(a) && !looks && !program
	})
}

// canAsk reports whether an ask can be put to the client.
func (c Client) canAsk(a Ask) bool {
	if c.Role != Decide {
		return false
	}
	switch a.Kind {
	case AskApproval:
		return c.Asks && (a.Fits() || c.Questions || !c.FixedAnswers)
	case AskConsent:
		return c.Questions
	case AskQuestion:
	}
	if a.URL != "" {
		return c.Questions && !c.NoPages
	}
	return c.Questions && !c.NoForms
}

// sayLocked returns the reply to an ask that cannot be put to anybody. A question is shown in
// the chat if a client that decides reads it: with Later at the end of the turn, else at once,
// by the events that are returned. The question for a secret is not shown, since a chat is no
// place for the answer.
func (s *Session) sayLocked(a Ask) (Reply, []Event) {
	reads := s.clients.Any(func(c *Attachment) bool { return c.client.Role == Decide && c.client.Questions })
	switch {
	case a.Kind != AskQuestion || a.Secret || !reads:
		return Reply{Outcome: OutcomeAlone}, nil
	case a.Later:
		return Reply{Outcome: OutcomeLater}, nil
	}
	text := a.InWords() + "\n(This client has no form for the question, so it was cancelled.)"
	return Reply{Outcome: OutcomeAlone, Text: "the client has no form for the question"}, []Event{Notice{Severity: Info, Text: text}}
}

// resolve settles an ask and reports whether it was waiting. by is the client that replies; nil: nobody
// does. A client that gives no decision on an approval is asked no more, and the ask waits for others if
// any can be asked.
func (s *Session) resolve(id AskID, by *Attachment, r Reply) bool {
	s.mu.Lock()
	p, ok := s.asks[id]
	if !ok {
		s.mu.Unlock()
		return false
	}
	if r = p.ask.read(r); by != nil && p.ask.Kind == AskApproval && r.Outcome != OutcomeDecided {
		if r.Outcome == OutcomeCanceled { // a client stops a turn by Cancel alone
			r.Outcome = OutcomeAlone
		}
		r.Text = p.passed.Add(by, by.client.Name, cmp.Or(r.Text, "the question was closed without a decision"))
		if s.canAskLocked(p) {
			s.mu.Unlock()
			return true
		}
	}
	delete(s.asks, id)
	if s.turn != nil {
		s.turn.active = time.Now()
	}
	kept := signed(r)
	if p.ask.Secret {
		kept.Text = ""
	}
	s.appendUnlock(Answered{id, kept})
	p.done <- r
	return true
}

// ask puts a question to the attached clients and waits until it is settled. The events before are
// a turn's, and appended with it. If no client can be asked it returns OutcomeAlone or OutcomeLater at
// once, and appends only a text for the chat. In a turn that nobody watches it is refused at once.
func (s *Session) ask(ctx context.Context, a Ask, timeout time.Duration, t *Turn, before ...Event) (Reply, error) {
	if timeout <= 0 {
		timeout = defaultAskTimeout
	}
	s.mu.Lock()
	err := s.refusalLocked()
	if err == nil && t != nil {
		err = t.fitLocked(before)
	}
	if err != nil {
		s.mu.Unlock()
		return Reply{}, err
	}
	p := &pending{ask: a, done: make(chan Reply, 1)}
	if !s.canAskLocked(p) {
		r, said := s.sayLocked(a)
		s.appendUnlock(said...)
		return r, nil
	}
	a.ID = AskID(s.newIDLocked("q") + s.g.cfg.AskMark())
	if d := s.now().Add(timeout); a.Deadline.IsZero() || a.Deadline.After(d) {
		a.Deadline = d
	}
	p.ask = a
	if s.turn != nil && s.turn.prompt.Unattended {
		r := Reply{Outcome: OutcomeAlone, Text: s.turn.origin.Client + " can ask nobody"}
		s.appendUnlock(append(before, Asked{a}, Answered{a.ID, r})...)
		return r, nil
	}
	s.asks[a.ID] = p
	s.appendUnlock(append(before, Asked{a})...)

	select {
	case r := <-p.done:
		return r, nil
	case <-time.After(a.Deadline.Sub(s.now())):
		s.resolve(a.ID, nil, Reply{Outcome: OutcomeExpired, Text: "there was no answer within " + timeout.String()})
	case <-ctx.Done():
		s.resolve(a.ID, nil, Reply{Outcome: OutcomeCanceled})
	}
	r := <-p.done // ours, or that of somebody who was quicker
	if r.Outcome == OutcomeCanceled && ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	return r, nil
}

// ruled is a decision that no person made.
func ruled(allowed bool, why string) Reply {
	d := RejectOnce
	if allowed {
		d = AllowOnce
	}
	return Reply{Outcome: OutcomeDecided, Decision: d, Why: why}
}

// authorize is the one gate: policy, then a person. It moves the call to
// Awaiting when somebody is asked. req is set for a tool of the back end's own. An error means
// that the turn must end.
func (t *Turn) authorize(ctx context.Context, c Call, check Check, prof *Profile, req *Request) (Reply, error) {
	s := t.s
	if err := t.heed(ctx); err != nil {
		return Reply{}, err
	}
	check.Remembered, check.Settings = t.standing(check.Origin)
	check.Call, check.Meta = c, s.Meta()
	var options []Option
	if req != nil {
		check.Call.Server, check.Call.Tool, check.Call.Kind = req.Spec.Server, req.Spec.Name, req.Spec.Kind
		options = req.Options
	}
	if prof.Policy == nil {
		return ruled(false, "rejected: no policy is configured"), nil
	}
	v := prof.Policy.Decide(check)
	if v.Effect == Allow && len(options) > 0 && !slices.ContainsFunc(options, func(o Option) bool { return o.Decision == AllowOnce && !o.Changes }) {
		// Only a person who has read the label may agree to something that lasts.
		v = Verdict{Effect: MustAsk, Why: "the agent offers no permission for this call alone"}
		if check.Origin.Approvals != "" && check.Origin.Approvals != ApprovalsAsk {
			v.Effect = Deny
		}
	}
	switch v.Effect {
	case Allow:
		return ruled(true, v.Why), nil
	case Deny:
		return ruled(false, v.Why), nil
	case MustAsk:
	}
	c.State, c.Why = Awaiting, v.Why
	a := Ask{Kind: AskApproval, Turn: c.Turn, Call: c.ID, Text: v.Why, Remember: v.RememberText, Always: v.Keep != nil && len(options) == 0, Hard: v.Hard, Options: options, key: v.Remember}
	r, err := s.ask(ctx, a, prof.AskTimeout, t, CallChanged{c})
	if err != nil {
		return Reply{}, err
	}
	s.settled(ctx)
	switch r.Outcome {
	case OutcomeDecided:
		who := "the user"
		if r.Caller != "" { // a program decided
			who = r.By
		}
		if r.Remember != "" {
			who += " for this session: " + v.RememberText
		} else if r.Decision == AllowAlways {
			who += " for good, in this folder: " + v.RememberText
			if err := v.Keep(ctx); err != nil {
				who = "the user, but only once: " + err.Error()
			}
		}
		if r.Why = "allowed by " + who; r.Decision.Allows() {
			if a.Always && r.Decision != AllowAlways && r.Caller == "" {
				s.offerLasting(&lasting{v.RememberText, v.Keep})
			}
			return r, nil
		}
		r.Why = "rejected by " + strings.TrimSuffix(who+": "+r.Text, ": ")
		return r, nil
	case OutcomeExpired:
		return ruled(false, "rejected: "+r.Text), nil
	case OutcomeCanceled: // its turn has ended
		if cause := context.Cause(t.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			return Reply{}, cause
		}
		return Reply{}, ErrOver
	case OutcomeAnswered, OutcomeDeclined, OutcomeLater, OutcomeAlone:
	}
	return ruled(false, "rejected: "+v.Why+", and "+cmp.Or(r.Text, "no client is attached that could be asked")), nil
}
