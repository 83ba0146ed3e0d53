package wire

import (
	"os"
	"os/signal"
	"syscall"
)

// SurviveSIGPIPE makes a write to a closed pipe fail with EPIPE instead of ending the
// process, also on standard output and standard error. The main package calls it once,
// before anything is written: an editor that leaves closes our standard output, and that
// is the end of a connection, not of the program.
//
// The signal is caught rather than ignored, since ignoring is inherited by child
// processes, where a pipeline like "yes | head" relies on it.
func SurviveSIGPIPE() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // without a receiver: further signals are dropped
}
