package core

import (
	"errors"
	"fmt"

	"dragoman/core/internal/fault"
)

// The causes for which a turn is stopped from outside.
var (
	ErrCanceled   = errors.New("canceled by the user")
	ErrClientGone = errors.New("the client has left")
	ErrShutdown   = errors.New("the gateway is shutting down")
)

// What callers branch on.
var (
	ErrNotFound = errors.New("no such session")
	ErrExists   = errors.New("the session exists already")
	ErrFenced   = errors.New("another process has taken the session over")
	ErrObserver = errors.New("this client may only watch the session")
	// ErrReadOnly: a claim is refused because the log is damaged, because a later version of
	// the gateway wrote it, or because the data folder cannot be written.
	ErrReadOnly = errors.New("the session can be read, but not continued")
	ErrOver     = errors.New("the turn is over")
	ErrNotAsked = errors.New("nothing of that id waits for an answer")
	ErrClosed   = errors.New("the session is closed")
	// ErrNoPrincipal: sessions belong to somebody, and whoever serves a client says to whom.
	ErrNoPrincipal = errors.New("a session needs a principal")
)

// BusyError refuses a prompt while another turn runs.
type BusyError struct{ Turn TurnID }

func (e *BusyError) Error() string {
	return fmt.Sprintf("the session is busy with turn %s; wait for it or cancel it", e.Turn)
}

// SignInError says that an Agent behind the gateway wants a login first, with its Text.
type SignInError = fault.SignIn

// OwnedError says that another living process owns a Session: Node names host and process, and
// Address is Journal.Owner.
type OwnedError = fault.Owned[SessionID]

// StoreError says that a Session could not be stored, because of Err. The session takes no more
// prompts until it is opened again.
type StoreError = fault.Store[SessionID]

// fault returns an error of the agent's back end with the agent's name, unless it has that.
func (a Agent) fault(err error) error {
	if login := (*SignInError)(nil); errors.As(err, &login) {
		return err
	}
	return fmt.Errorf("agent %s: %w", a.Name, err)
}
