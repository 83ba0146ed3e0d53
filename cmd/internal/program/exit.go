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
	ExitNoSecret = 3
)

// ErrReported fails a command that has already printed the error.
var ErrReported = errors.New("failed")

// ExitError ends the program with a code of its own and prints nothing.
type ExitError int

// Error implements error.
func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
