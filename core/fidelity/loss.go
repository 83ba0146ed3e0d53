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
	InPart   How = "in part"       // some values arrive as they are
	Changed  How = "changed"       // something else arrives in its place
	AsText   How = "as text"       // it is a part of the conversation's text
	AsNotice How = "as a notice"   // it is a notice to the user
	Measured How = "measured here" // the other side does not tell it; we find it out ourselves
)

// Loss is an entry of the list of an encoder or a decoder: facts, with all their parts, that it does not
// carry as they are.
type Loss struct {
	Facts []Fact
	How   How
	Why   string // for users: one sentence
}

// Because returns an entry: why facts become what h says.
func (h How) Because(why string, facts ...Fact) Loss { return Loss{Facts: facts, How: h, Why: why} }

// Of returns what a list says about a fact; false: the fact is carried as it is. An entry for the fact
// itself counts more than one for something that it is a part of.
func Of(list []Loss, f Fact) (l Loss, found bool) {
	at := Fact("")
	for _, e := range list {
		for _, fact := range e.Facts {
			if fact.Has(f) && len(fact) >= len(at) {
				at, l, found = fact, e, true
			}
		}
	}
	return l, found
}

// Check returns what is wrong with the form of a list: entries for facts that there are not, or that
// are the gateway's own affair, facts that are there twice, and reasons that are no sentence.
func Check(list []Loss) (faults []string) {
	facts, seen := Facts(), map[Fact]bool{}
	for _, l := range list {
		for _, f := range l.Facts {
			switch {
			case !slices.ContainsFunc(facts, f.Has):
				faults = append(faults, fmt.Sprintf("%s: there is no such fact", f))
			case IsInternal(f):
				faults = append(faults, fmt.Sprintf("%s: it is internal, and in no list", f))
			case seen[f]:
				faults = append(faults, fmt.Sprintf("%s: it is listed twice", f))
			}
			seen[f] = true
		}
		if !slices.Contains([]How{Lost, InPart, Changed, AsText, AsNotice, Measured}, l.How) {
			faults = append(faults, fmt.Sprintf("%q is not what can become of a fact", l.How))
		}
		if !strings.HasSuffix(l.Why, ".") || strings.ContainsAny(l.Why, "\n|") {
			faults = append(faults, fmt.Sprintf("the reason is no sentence: %q", l.Why))
		}
	}
	return faults
}
