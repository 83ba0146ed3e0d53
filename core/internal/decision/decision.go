// Package decision has the answers that are offered to a question, and the decisions that they mean.
package decision

import (
	"fmt"
	"strings"
)

// Decision is the answer of a person or a rule to an approval.
type Decision string

const (
	AllowOnce    Decision = "allow_once"
	AllowSession Decision = "allow_session"
	AllowAlways  Decision = "allow_always"
	RejectOnce   Decision = "reject_once"
	RejectAlways Decision = "reject_session"
)

// Allows reports whether the call may run.
func (d Decision) Allows() bool { return d == AllowOnce || d == AllowSession || d == AllowAlways }

// Option is one answer that is offered to a question.
type Option struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	// Decision is the decision on a consent or an approval that the option means; empty: the
	// option is an ordinary answer, and of an approval one that allows nothing.
	Decision Decision `json:"decision,omitempty"`
	// Changes says that a yes changes more than what is asked about: the agent's mode, or what is allowed
	// in later sessions. Only a person who has read the label may give it.
	Changes bool `json:"changes,omitempty"`
}

// Plain reports whether yes, yes for the session and no are all that is offered. That is so without
// options.
func Plain(options []Option) bool {
	seen := map[Decision]bool{}
	for _, o := range options {
		if seen[o.Decision] || o.Decision != AllowOnce && o.Decision != AllowSession && o.Decision != RejectOnce {
			return false
		}
		seen[o.Decision] = true
	}
	return len(options) == 0 || seen[AllowOnce] && seen[RejectOnce]
}

// Find returns the option of an id; ok is false if it was not offered, or if the id names none or
// several.
func Find(options []Option, id string) (o Option, ok bool) {
	for _, offered := range options {
		switch {
		case offered.ID != id || id == "":
		case ok:
			return Option{}, false
		default:
			o, ok = offered, true
		}
	}
	return o, ok
}

// InWords returns a question as text, with the page that the user opens, or with numbered options.
func InWords(text, url string, options []Option) string {
	text = strings.TrimSpace(text)
	if url != "" {
		return strings.TrimSpace(text + "\n" + url)
	}
	for i, o := range options {
		text += strings.Repeat("\n", max(1, 2-i)) + fmt.Sprintf("%d. %s", i+1, strings.TrimSuffix(o.Label+": "+o.Description, ": "))
	}
	return text
}
