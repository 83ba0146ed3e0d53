package program

import (
	"errors"
	"fmt"
)

// Exit codes. A process that a second signal ends has 128 and the signal's number.
const (
	ExitOK       = 0
	ExitFailed   = 1
	ExitUsage    = 2
	ExitNoSecret = 3   // of keyring
	ExitRefused  = 3   // of run: something was refused because nobody could be asked
	ExitLimit    = 4   // of run: a limit, or the model's refusal, has ended the turn
	ExitUnread   = 141 // nobody reads the output any more, as if SIGPIPE had ended it
)

// ErrReported fails a command that has already printed the error.
var ErrReported = errors.New("failed")

// ExitError ends the program with a code of its own and prints nothing.
type ExitError int

// Error implements error.
func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// UsageError is a mistake in the command line that shows only when the command has started.
type UsageError struct{ Err error }

// Error implements error.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the mistake.
func (e UsageError) Unwrap() error { return e.Err }
