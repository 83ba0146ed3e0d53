package program

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"dragoman/core"
)

// Signal is the cause of a context that a signal has ended. It is a core.ErrShutdown.
type Signal struct{ os.Signal }

// Error implements error.
func (s Signal) Error() string { return "the signal " + s.String() }

// Is reports whether target is core.ErrShutdown.
func (s Signal) Is(target error) bool { return target == core.ErrShutdown }

// Code returns the exit code of a command that the signal has stopped.
func (s Signal) Code() ExitError { return ExitError(signalCode(s.Signal)) }

// UntilSignal returns a context that ends with a Signal as its cause at the first signal to end:
// SIGTERM, SIGHUP and, unless a command listens to it itself, SIGINT. A second one ends the
// process at once, whatever it is doing. stop stops listening and waits for the goroutine that
// listens.
func UntilSignal(ctx context.Context, interrupt bool) (_ context.Context, stop func()) {
	ends := []os.Signal{syscall.SIGTERM}
	if interrupt {
		ends = append(ends, syscall.SIGINT)
	}
	if !signal.Ignored(syscall.SIGHUP) { // if it is ignored, nohup keeps us running
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, end := context.WithCancelCause(ctx)
	came := make(chan os.Signal, 2) // room for a second one while the first is handled
	signal.Notify(came, ends...)
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case s := <-came:
				if n > 0 {
					os.Exit(signalCode(s))
				}
				end(Signal{s})
			case <-over:
				return
			}
		}
	})
	return ctx, func() {
		signal.Stop(came)
		close(over)
		wg.Wait()
		end(nil)
	}
}

// signalCode returns the exit code of a process that a signal has ended.
func signalCode(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return ExitFailed
}
