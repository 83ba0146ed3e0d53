package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// defaultAskTimeout is the time for an answer if the profile sets none.
const defaultAskTimeout = time.Hour

// pending is an Ask that somebody in this process waits for.
type pending struct {
	ask  Ask
	done chan Reply // holds the one reply
}

// canAskLocked reports whether anybody attached could settle an ask.
func (s *Session) canAskLocked(ask Ask) bool {
	for a := range s.clients {
		if a.client.canAsk(ask) {
			return true
		}
	}
	return false
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
	reads := false
	for c := range s.clients {
		reads = reads || c.client.Role == Decide && c.client.Questions
	}
	switch {
	case a.Kind != AskQuestion || a.Secret || !reads:
		return Reply{Outcome: OutcomeAlone}, nil
	case a.Later:
		return Reply{Outcome: OutcomeLater}, nil
	}
	text := a.InWords() + "\n(This client has no form for the question, so it was cancelled.)"
	return Reply{Outcome: OutcomeAlone, Text: "the client has no form for the question"}, []Event{Notice{Severity: Info, Text: text}}
}

// resolve answers an ask and reports whether it was waiting.
func (s *Session) resolve(id AskID, r Reply) bool {
	s.mu.Lock()
	p, ok := s.asks[id]
	if !ok {
		s.mu.Unlock()
		return false
	}
	delete(s.asks, id)
	if o, ok := p.ask.Option(r.Option); ok && p.ask.Kind == AskApproval {
		r.Decision = o.Decision
	} else if r.Outcome == OutcomeDecided && len(p.ask.Options) > 0 && !(r.Option == "" && p.ask.Fits()) {
		r.Option, r.Decision = "", RejectOnce // it was not offered
	}
	if r.Option != "" && p.ask.Kind == AskApproval { // the agent keeps what it offered
		r.Remember = ""
	} else if !r.Decision.Allows() && r.Decision != RejectAlways || p.ask.Remember == "" || r.Decision == AllowOnce {
		r.Remember = ""
	} else {
		r.Remember = p.ask.key
	}
	if s.turn != nil {
		s.turn.active = time.Now()
	}
	kept := signed(r)
	if p.ask.Secret {
		kept.Text = ""
	}
	wake := s.appendLocked(Answered{id, kept})
	s.mu.Unlock()
	s.wake(wake)
	p.done <- r
	return true
}

// withdrawLocked takes back everything that is asked; the caller answers it
// after the lock.
func (s *Session) withdrawLocked(events *[]Event) (list []*pending) {
	for id, p := range s.asks {
		delete(s.asks, id)
		*events = append(*events, Answered{id, Reply{Outcome: OutcomeCanceled}})
		list = append(list, p)
	}
	return list
}

// ask puts a question to the attached clients and waits until it is settled. The events before are
// a turn's, and appended with it. If no client can be asked it returns OutcomeAlone or OutcomeLater at
// once, and appends only a text for the chat.
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
	if !s.canAskLocked(a) {
		r, said := s.sayLocked(a)
		wake := s.appendLocked(said...)
		s.mu.Unlock()
		s.wake(wake)
		return r, nil
	}
	a.ID = AskID(s.newIDLocked("q") + s.g.cfg.AskMark())
	if d := s.now().Add(timeout); a.Deadline.IsZero() || a.Deadline.After(d) {
		a.Deadline = d
	}
	p := &pending{ask: a, done: make(chan Reply, 1)}
	s.asks[a.ID] = p
	wake := s.appendLocked(append(before, Asked{a})...)
	left := a.Deadline.Sub(s.now())
	s.mu.Unlock()
	s.wake(wake)

	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case r := <-p.done:
		return r, nil
	case <-timer.C:
		s.resolve(a.ID, Reply{Outcome: OutcomeExpired, Text: "there was no answer within " + timeout.String()})
	case <-ctx.Done():
		s.resolve(a.ID, Reply{Outcome: OutcomeCanceled})
	}
	r := <-p.done // ours, or that of somebody who was quicker
	if r.Outcome == OutcomeCanceled && ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	return r, nil
}

// judgement is the decision whether a call may run.
type judgement struct {
	allowed bool
	reply   Reply
	why     string
}

// ruled is a judgement that no person made.
func ruled(allowed bool, why string) judgement {
	d := RejectOnce
	if allowed {
		d = AllowOnce
	}
	return judgement{allowed, Reply{Outcome: OutcomeDecided, Decision: d}, why}
}

// authorize is the one gate: policy, then a person. It moves the call to
// Awaiting when somebody is asked. req is set for a tool of the back end's own. An error means
// that the turn must end.
func (t *Turn) authorize(ctx context.Context, c Call, check Check, prof *Profile, req *Request) (judgement, error) {
	s := t.s
	s.mu.Lock()
	check.Remembered = s.state.answers.of(check.Origin)
	check.Settings = s.state.Settings
	s.mu.Unlock()
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
	if v.Effect == Allow && len(options) > 0 && !slices.ContainsFunc(options, func(o Option) bool { return o.Decision == AllowOnce }) {
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
	a := Ask{Kind: AskApproval, Turn: c.Turn, Call: c.ID, Text: v.Why, Remember: v.RememberText, Hard: v.Hard, Options: options, key: v.Remember}
	r, err := s.ask(ctx, a, prof.AskTimeout, t, CallChanged{c})
	if err != nil {
		return judgement{}, err
	}
	switch r.Outcome {
	case OutcomeDecided:
		who := "the user"
		if r.Caller != "" { // a program decided
			who = r.By
		}
		if r.Decision.Allows() {
			return judgement{true, r, "allowed by " + who + scope(r, v)}, nil
		}
		return judgement{false, r, "rejected by " + who + scope(r, v) + note(r.Text)}, nil
	case OutcomeAlone:
		return ruled(false, "rejected: "+v.Why+", and "+cmp.Or(r.Text, "no client is attached that could be asked")), nil
	case OutcomeExpired:
		return ruled(false, "rejected: "+r.Text), nil
	case OutcomeCanceled: // its turn has ended
		if cause := context.Cause(t.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			return judgement{}, cause
		}
		return judgement{}, ErrOver
	case OutcomeAnswered, OutcomeDeclined, OutcomeLater:
	}
	return ruled(false, "rejected: the answer was not a decision"), nil
}

func scope(r Reply, v Verdict) string {
	if r.Remember == "" {
		return ""
	}
	return " for this session: " + v.RememberText
}

func note(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
