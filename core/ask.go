package core

import (
	"time"

	"dragoman/core/internal/decision"
)

// AskKind is the kind of an Ask.
type AskKind string

const (
	AskApproval AskKind = "approval" // may this call run?
	AskConsent  AskKind = "consent"  // may something else happen, such as a server start or a model be lent? Each option holds its Decision
	AskQuestion AskKind = "question" // the agent wants to know something; no permission is an answer
)

// Ask is a question to a person. Deadline is always set: when it passes, an approval is
// rejected and a question stays unanswered.
type Ask struct {
	ID   AskID   `json:"id"`
	Kind AskKind `json:"kind"`
	Turn TurnID  `json:"turn,omitempty"`
	Call CallID  `json:"call,omitempty"` // of an approval: always
	Text string  `json:"text"`           // the question, in words; why an approval is asked for
	// Options are the answers that are offered. Those of an approval are the list of an agent
	// behind the gateway: a Reply has the ID of one, unless the list fits (Fits). Empty: our own.
	Options  []Option `json:"options,omitempty"`
	URL      string   `json:"url,omitempty"`      // of a question: a page that the user opens; the answer says only that they did, or would not
	Freeform bool     `json:"freeform,omitempty"` // of a question: any text may be the answer
	// Later says that the turn can end with the question if no client has a form for it:
	// then the user answers with the next message, and the Reply is OutcomeLater.
	Later    bool      `json:"-"`
	Deadline time.Time `json:"deadline"`
	// Remember says in words what DecideSession would allow from then on; empty: it is not offered. Of a consent
	// with Person it is what a person agrees to for the session.
	Remember string `json:"remember,omitempty"`
	// Always says that AllowAlways is offered: what Remember says, in these folders, for good.
	Always bool `json:"always,omitempty"`
	// Hard says that only a person may allow it. A rule, an earlier answer or a model that
	// answers for its user may not.
	Hard bool `json:"hard,omitempty"`
	// Person says of a consent that no program may give it, not even one that asks its own user.
	Person bool `json:"person,omitempty"`

	// About is the current state of the sub-session's call that an approval is for; nil: the call
	// is the session's own, and Call names it. It is not stored with its content.
	About *Call `json:"about,omitempty"`
	// Secret says that the answer must not be shown or kept: a key. The log gets the
	// fact that it was answered.
	Secret bool `json:"secret,omitempty"`

	key string // what policy will find a decision for the session under
}

// Fits reports whether yes, yes for the session and no are all that an approval offers: a client
// that has just these may show them instead of Options. Any other list must be shown as it is.
func (a Ask) Fits() bool { return decision.Plain(a.Options) }

// Option returns the option of an id; ok is false if it was not offered, or if the id names none or
// several.
func (a Ask) Option(id string) (o Option, ok bool) { return decision.Find(a.Options, id) }

// read returns a reply with what it means: the decision of its option, and what is remembered. A yes
// that was not offered is no decision.
func (a Ask) read(r Reply) Reply {
	o, offered := a.Option(r.Option)
	switch r.Remember = ""; {
	case a.Person && r.Caller != "" && o.Decision.Allows():
		r.Outcome, r.Option, r.Text = OutcomeDeclined, "", "only a person may agree to it"
	case a.Person && r.Outcome == OutcomeAnswered && o.Decision.Allows():
		r.Remember = a.Remember
	case a.Kind != AskApproval:
	case r.Outcome != OutcomeDecided:
		r.Option, r.Decision = "", ""
	case offered: // the agent keeps what it offered
		r.Decision = o.Decision
	case r.Option != "" || r.Decision.Allows() && !a.Fits() || r.Decision == AllowAlways && (!a.Always || r.Caller != ""):
		r.Outcome, r.Option, r.Decision, r.Text = OutcomeAlone, "", "", "the client answered with something that was not offered"
	case !a.Fits():
		r.Decision = RejectOnce
	case a.Remember != "" && (r.Decision == AllowSession || r.Decision == RejectAlways):
		r.Remember = a.key
	}
	return r
}

// AskedLater is the result of a call whose question is OutcomeLater.
const AskedLater = "asked; the answer comes with the next message"

// Option is one answer that is offered to a question, with the Decision on a consent or an approval that
// it means; empty: it is an ordinary answer, and of an approval one that allows nothing.
type Option = decision.Option

// InWords returns the ask as text, for a chat, where no form can be shown.
func (a Ask) InWords() string { return decision.InWords(a.Text, a.URL, a.Options) }

// Decision is the answer of a person or a rule to an approval. Allows says whether the call may run.
type Decision = decision.Decision

const (
	AllowOnce    = decision.AllowOnce
	AllowSession = decision.AllowSession // and whatever Ask.Remember says, while the session lives
	AllowAlways  = decision.AllowAlways  // and in all sessions of these folders; only a person may say so
	RejectOnce   = decision.RejectOnce
	RejectAlways = decision.RejectAlways
)

// Outcome is the way in which an Ask was settled.
type Outcome string

const (
	OutcomeDecided  Outcome = "decided"  // an approval: see Decision
	OutcomeAnswered Outcome = "answered" // a question or a consent: Option or Text is the answer
	OutcomeDeclined Outcome = "declined" // a question or a consent that the user does not want to answer
	OutcomeLater    Outcome = "later"    // a question with Later: the turn ends with it, and the next message answers it
	OutcomeExpired  Outcome = "expired"  // the deadline passed
	OutcomeAlone    Outcome = "alone"    // no client can be asked, or the turn allows no approvals (ApprovalsDeny)
	OutcomeCanceled Outcome = "canceled" // the turn was stopped
)

// Reply settles an Ask.
type Reply struct {
	Outcome   Outcome   `json:"outcome"`
	Decision  Decision  `json:"decision,omitempty"`
	Option    string    `json:"option,omitempty"` // its ID, if the ask has Options
	Text      string    `json:"text,omitempty"`   // the answer, or a person's note on a decision
	By        string    `json:"by,omitempty"`     // the client that answered
	Principal Principal `json:"principal,omitempty"`
	Caller    Caller    `json:"caller,omitempty"`   // the program that answered; empty, or "person" where Remember is set: a person
	Remember  string    `json:"remember,omitempty"` // the key that policy will find again, or what was agreed to
	Why       string    `json:"-"`                  // of an approval, for the call that was asked about
}
