// Package callstate has the states of a tool call.
package callstate

import "slices"

// State is the state of a call.
type State string

const (
	Proposed  State = "proposed"  // the model wants it; its arguments may still be arriving
	Awaiting  State = "awaiting"  // somebody is asked
	Running   State = "running"   // decided, and about to have its effect
	Succeeded State = "succeeded" // ended well
	Errored   State = "errored"   // ran and failed, or could not run
	Rejected  State = "rejected"  // a person or a rule said no; it never ran
	Canceled  State = "canceled"  // its turn was stopped first
)

// transitions is the whole life of a call. What is not here is a fault of ours
// or of a back end, and is refused. (A map would be built at each start of the program.)
var transitions = [...]struct {
	from State
	to   []State
}{
	{"", []State{Proposed}},
	{Proposed, []State{Proposed, Awaiting, Running, Rejected, Canceled, Errored}},
	{Awaiting, []State{Running, Rejected, Canceled, Errored}},
	{Running, []State{Running, Succeeded, Errored, Canceled}},
}

func (s State) next() []State {
	for _, t := range transitions {
		if t.from == s {
			return t.to
		}
	}
	return nil
}

// To reports whether a call in state s may go to next. Proposed and Running may
// be repeated: a title, arguments or content become known.
func (s State) To(next State) bool { return slices.Contains(s.next(), next) }

// Ended reports whether nothing can follow s.
func (s State) Ended() bool { return s.next() == nil }
