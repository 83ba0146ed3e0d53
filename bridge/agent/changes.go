package agent

import (
	"slices"
	"strings"
	"unicode"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// plainWords are all that the label of a yes has that says no more than its kind. A label with any other
// word names what else it covers: a rule, a mode, other calls.
var plainWords = []string{
	"accept", "again", "allow", "always", "and", "approve", "approved", "it", "once", "permit", "proceed", "run", "this", "time", "yes",
}

// mark notes which options change more than what is asked about: the agent's mode, or its rules for later
// sessions. An answer that lasts is one of these unless it says that it is for the session, or is the only
// one and has a plain label. asked is the kind of the call: where the mode itself is asked about, a single
// yes to it changes nothing more.
func (c *conversation) mark(options []core.Option, asked core.CallKind) {
	c.mu.Lock()
	choices := c.offered.Choices
	c.mu.Unlock()
	modes := map[string]bool{}
	for _, choice := range choices {
		if choice.Category == acp.CategoryMode {
			for _, v := range choice.Values {
				modes[v.ID] = true
			}
		}
	}
	lasts := func(o core.Option) bool { return o.Decision == core.AllowSession || o.Decision == core.AllowAlways }
	several := slices.ContainsFunc(options, func(o core.Option) bool { return lasts(o) && forSession(o.Label) })
	for i, o := range options {
		switch {
		case lasts(o):
			options[i].Changes = modes[o.ID] || !forSession(o.Label) && (several || !plainLabel(o.Label))
		case o.Decision == core.AllowOnce:
			options[i].Changes = modes[o.ID] && asked != core.CallKind(acp.KindSwitchMode)
		}
	}
}

// forSession reports whether a label says that the answer is for one session.
func forSession(label string) bool { return slices.Contains(wordsOf(label), "session") }

// plainLabel reports whether a label says nothing that the kind of its option does not say.
func plainLabel(label string) bool {
	return !slices.ContainsFunc(wordsOf(label), func(w string) bool { return !slices.Contains(plainWords, w) })
}

func wordsOf(label string) []string {
	return strings.FieldsFunc(strings.ToLower(label), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
