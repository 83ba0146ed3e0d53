package bridge

import (
	"fmt"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
)

// consult asks the client's user about a call, and makes it when they agree. It runs on
// the reading goroutine and does not block.
func (s *side) consult(p *part, call *wire.Call, q request, own string, kept *handed, ask *AskFirst) {
	refuse := func(err error) {
		kept.ends(OutcomeRefused, 0)
		p.log("warn", fmt.Sprintf("a call of %.100q was refused: %v", own, err))
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidRequest, "%v", err))
	}
	switch {
	case !s.offers.asksUser():
		refuse(ask)
	case s.modern():
		res, err := s.consents.park(p.server.Name, own, q, ask)
		if err != nil {
			kept.ends(OutcomeRefused, 0)
		} else {
			kept.ends(OutcomeOK, 0) // the next call records the outcome
		}
		call.Reply(res, err)
	default:
		s.busy.Add(1)
		s.caller.owned.Go(func() {
			defer s.busy.Add(-1)
			reply, err := s.askClient(call.Context(), p, "elicitation/create", consentForm(p.server.Name, own, q.args, ask))
			if call.Context().Err() != nil {
				kept.ends(OutcomeRefused, 0)
				call.Reply(nil, wire.ErrCanceled)
				return
			}
			if err := ask.judged(reply, err); err != nil {
				refuse(err)
				return
			}
			s.toPart(p, call, q, own, kept)
		})
	}
}

// resumeConsent continues a call that the client makes again with its user's answer; false: it
// is no such call.
func (s *side) resumeConsent(p *part, call *wire.Call, q request, own string, kept *handed) bool {
	c, err := s.consents.answered(p.server.Name, own, q)
	switch {
	case err != nil:
		kept.ends(OutcomeRefused, 0)
		call.Reply(nil, err)
	case c == nil:
		return false
	default:
		c.q.token = q.token
		s.toPart(p, call, c.q, own, kept)
	}
	return true
}

// isParked reports whether a call brings the state of a call that waits for answers to its
// server's questions. resumes checks that it is that call.
func (s *side) isParked(q request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return q.state != "" && s.parked[q.state] != nil
}
