package fidelity

import (
	"fmt"
	"slices"
	"strings"
)

// How says what becomes of a fact.
type How string

const (
	Carried  How = "yes"           // as it is; no list has it
	Lost     How = "no"            // nothing of it arrives
	Changed  How = "changed"       // something else arrives in its field
	AsText   How = "as text"       // it is a part of the conversation's text
	AsNotice How = "as a notice"   // it is a notice to the user
	Measured How = "measured here" // the other side does not tell it; we find it out ourselves
)

// Loss is an entry of the list of an encoder or a decoder: a fact, with all its parts, that it does
// not carry as it is.
type Loss struct {
	Fact Fact
	How  How
	Why  string // for users: one sentence
}

// Of returns what a list says about a fact; false: the fact is carried as it is. An entry for the fact
// itself counts more than one for something that it is a part of.
func Of(list []Loss, f Fact) (l Loss, found bool) {
	for _, e := range list {
		if e.Fact.Has(f) && len(e.Fact) >= len(l.Fact) {
			l, found = e, true
		}
	}
	return l, found
}

// Check returns what is wrong with the form of a list: entries for facts that there are not, or that
// are the gateway's own affair, entries that are there twice, and reasons that are no sentence.
func Check(list []Loss) (faults []string) {
	facts, internal := Facts(), Internal()
	for i, l := range list {
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Sprintf("%s: ", l.Fact)+fmt.Sprintf(format, args...))
		}
		if !slices.ContainsFunc(facts, l.Fact.Has) {
			fault("there is no such fact")
		}
		if why, own := longest(internal, l.Fact); own {
			fault("it is in no list: %s", why)
		}
		if slices.ContainsFunc(list[:i], func(o Loss) bool { return o.Fact == l.Fact }) {
			fault("it is listed twice")
		}
		if !slices.Contains([]How{Lost, Changed, AsText, AsNotice, Measured}, l.How) {
			fault("%q is not what can become of a fact", l.How)
		}
		if !strings.HasSuffix(l.Why, ".") || strings.ContainsAny(l.Why, "\n|") {
			fault("the reason is no sentence: %q", l.Why)
		}
	}
	return faults
}

// longest returns the value of the most precise entry of a table that has a fact.
func longest[T any](table map[Fact]T, f Fact) (v T, found bool) {
	at := Fact("")
	for fact, value := range table {
		if fact.Has(f) && len(fact) >= len(at) {
			at, v, found = fact, value, true
		}
	}
	return v, found
}
