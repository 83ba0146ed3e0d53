package launch

import (
	"time"

	"dragoman/core"
)

// Trial describes what an agent did when it was tried.
type Trial struct {
	Name, Version string        // of the program, as it says itself; empty: it does not
	Hello         time.Duration // from the start to the answer to initialize; 0: there was none
	Session       time.Duration // that session/new took; 0: there is no session
	Caps          []string      // what it can do, in words
	Reloads       bool          // it can continue a session in another process
	SignIns       []string      // its ways to sign in
	State         string        // of its sign-in, as it says itself (authenticated …); empty: it does not
	Choices       []core.Choice // its options
	Said          string        // the end of its standard error, as far as it has arrived
}
