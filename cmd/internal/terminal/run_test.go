package terminal

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/core"
	"dragoman/core/coretest"
)

// unreadable is an output that nobody reads.
type unreadable struct{ err error }

func (u unreadable) Write([]byte) (int, error) { return 0, u.err }

// A turn that does not end when it is stopped, by a signal or because nothing can be printed any
// more, is waited for as long as other sessions that end.
func TestRunWaitsForAStoppedTurnWithinBounds(t *testing.T) {
	full := errors.New("no space left")
	for name, c := range map[string]struct {
		out  io.Writer
		stop error // the reason why the command's context ends; nil: it does not
		is   error
	}{
		"the reader has gone": {unreadable{io.ErrClosedPipe}, nil, program.ExitError(program.ExitUnread)},
		"the disk is full":    {unreadable{full}, nil, full},
		"a signal":            {io.Discard, program.Signal{Signal: syscall.SIGTERM}, program.Signal{Signal: syscall.SIGTERM}.Code()},
		"both":                {unreadable{io.ErrClosedPipe}, program.Signal{Signal: syscall.SIGTERM}, program.ExitError(program.ExitUnread)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				release := make(chan struct{})
				g := coretest.Gateway(coretest.NewMemory(), func(turn context.Context, at *core.Turn) (core.StopReason, error) {
					if err := at.Emit(turn, core.TextDelta{Message: at.NewMessage(), Text: "an answer"}); err != nil {
						t.Error(err)
					}
					<-turn.Done()
					<-release // deaf to its end
					return core.StopCanceled, nil
				}, nil)
				s, err := g.Create(ctx, core.Meta{Principal: core.Local, Cwd: "/w"})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				over := make(chan error, 1)
				go func() {
					env := &program.Environment{Out: c.out, Err: io.Discard, Lookup: func(string) (string, bool) { return "", false }}
					over <- Run(ctx, RunOptions{Program: env, Principal: core.Local, Session: s, Prompt: "go"})
				}()
				synctest.Wait()
				if c.stop != nil {
					end(c.stop)
				}
				if err := <-over; !errors.Is(err, c.is) {
					t.Errorf("it ends with %v, want %v", err, c.is)
				}
				if took := time.Since(began); took < program.ShutdownFor || took > program.ShutdownFor+time.Second { // by the fake clock
					t.Errorf("it took %v", took)
				}
				close(release)
				if err := g.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
