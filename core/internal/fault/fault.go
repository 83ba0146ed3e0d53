// Package fault has the errors that say what stands in a session's way, and what to do outside of it.
package fault

import "fmt"

// SignIn says that an agent behind the gateway wants a login first.
type SignIn struct{ Agent, Text string }

func (e *SignIn) Error() string {
	return fmt.Sprintf("agent %s wants a login: %s (dragoman agents login %s)", e.Agent, e.Text, e.Agent)
}

// Owned says that another living process owns a session S.
type Owned[S ~string] struct {
	Session S
	Node    string // host and process
	Address string // where it can be reached; empty: nowhere
}

func (e *Owned[S]) Error() string {
	return fmt.Sprintf("session %s is in use by another process (%s); close it there first", e.Session, e.Node)
}

// Store says that a session S could not be stored.
type Store[S ~string] struct {
	Session S
	Err     error
}

func (e *Store[S]) Error() string {
	return fmt.Sprintf("session %s could not be stored: %v; free space or fix the data folder, then open the session again", e.Session, e.Err)
}

func (e *Store[S]) Unwrap() error { return e.Err }
