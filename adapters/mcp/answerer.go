package mcp

import (
	"cmp"
	"fmt"
	"slices"

	"dragoman/core"
	"dragoman/core/access"
)

// answerer is the one who has the right to answer an open ask.
type answerer uint8

const (
	ofModel     answerer = iota // the calling model passes on the user's answer, by agent_approve
	ofUser                      // the client's user, who is being asked
	ofUserLater                 // the client's user, who is asked when a call follows the turn
	ofPerson                    // a person that this client cannot ask
	ofOthers                    // clients that have created or prompted the session
	ofGranted                   // clients with the right to answer, which this one's token lacks
)

// answererOf returns the holder of the right to answer an ask. by is the way in which the client
// can ask its user. While a dialog is open only the user may answer. If it was dismissed, or the
// client has no dialogs, the calling model may.
func (c *client) answererOf(h *heldSession, by asker, a core.Ask) answerer {
	dismissed, _ := h.dismissals()
	switch {
	case !c.host.of.Rights.Has(access.Answer):
		return ofGranted
	case !h.mine():
		return ofOthers
	case a.Person:
		return ofPerson
	case h.isOpen(a.ID):
		return ofUser
	case by != asksNobody && dismissed[a.ID] == 0:
		return ofUserLater
	case c.modelMay(a):
		return ofModel
	case by != asksNobody:
		return ofUserLater
	}
	return ofPerson
}

// modelMay reports whether the calling model may do more than reject. It may answer questions, and
// allow calls if the configuration lets it and the call is not one that only a person may allow. It
// may never consent to anything else.
func (c *client) modelMay(a core.Ask) bool {
	switch a.Kind {
	case core.AskQuestion:
		return true
	case core.AskConsent:
		return false
	case core.AskApproval:
	}
	return !a.Hard && c.server.opts.Settings().ModelAnswers
}

// note returns the reason why agent_approve can only reject; "": it can do more.
func (s answerer) note() string {
	switch s {
	case ofModel:
		return ""
	case ofUser:
		return "the client's user is being asked"
	case ofUserLater:
		return "agent_wait asks the client's user"
	case ofPerson:
		return "only a person may allow it, and this client cannot ask one"
	case ofOthers:
		return "only a client that began or prompted the session may answer"
	case ofGranted:
		return "the client's token does not have the right answer"
	}
	return ""
}

// elsewhere reports whether the client may not even reject.
func (s answerer) elsewhere() bool { return s == ofOthers || s == ofGranted }

// addAnswerer adds the right to answer an ask to the result.
func (r *turnResult) addAnswerer(a core.Ask, s answerer) {
	for i := range r.Approvals {
		if p := &r.Approvals[i]; p.ID == a.ID {
			p.Note = cmp.Or(s.note(), p.Note)
			p.Options = slices.DeleteFunc(p.Options, func(o string) bool { return s.elsewhere() || s != ofModel && decisionOf(o).Allows() })
			p.Choices = slices.DeleteFunc(p.Choices, func(o choice) bool { return s.elsewhere() || s != ofModel && decisionOf(o.Decision).Allows() })
		}
	}
	for i := range r.Questions {
		if q := &r.Questions[i]; q.ID == a.ID {
			q.Note = s.note()
		}
	}
	r.who = append(r.who, s)
}

// finish completes a result: the tool to call next, and the text, for clients that show their
// model only the structured result.
func (r *turnResult) finish() {
	switch r.Status {
	case statusRunning:
		r.Next = toolWait
	case statusAwaiting:
		r.Next = toolApprove
		if !slices.Contains(r.who, ofModel) && !slices.Contains(r.who, ofPerson) {
			r.Next = toolWait
		}
	}
	r.Text = r.say()
	if r.answer != "" && r.Next != "" {
		r.Text += "\n\nSo far the agent has said:\n\n" + r.answer
	}
}

// instructions returns instructions for the calling model about the pending asks.
func (r *turnResult) instructions() string {
	switch {
	case r.Next == toolWait && !slices.ContainsFunc(r.who, answerer.elsewhere):
		return fmt.Sprintf("Call agent_wait with session_id %q and turn_id %q for the result, or agent_approve to reject.", r.Session, r.Turn)
	case r.Next == toolWait:
		return fmt.Sprintf("Call agent_wait with session_id %q and turn_id %q for the result.", r.Session, r.Turn)
	case slices.Contains(r.who, ofModel):
		return fmt.Sprintf("Ask the user, then call agent_approve with session_id %q, and agent_wait for the result.", r.Session)
	}
	return fmt.Sprintf("Tell the user. agent_approve with session_id %q can only reject it; then call agent_wait for the result.", r.Session)
}
