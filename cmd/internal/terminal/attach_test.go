package terminal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"dragoman/cmd/internal/program"
	"dragoman/core"
	"dragoman/core/coretest"
)

// shared is a session that an editor and a chat use in one process. Its turns do what the test
// says.
type shared struct {
	t       *testing.T
	gateway *core.Gateway
	session *core.Session
	editor  *core.Attachment
	steps   chan func(context.Context, *core.Turn) // nil: the turn ends

	out        lockedBuffer
	errs       lockedBuffer
	in         io.WriteCloser
	interrupts chan os.Signal
	over       chan error
}

// lockedBuffer can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func text(s string) []core.Block { return []core.Block{core.Text{Text: s}} }

// share makes the session. A call of its tool needs an approval.
func share(t *testing.T) *shared {
	t.Helper()
	s := &shared{t: t, steps: make(chan func(context.Context, *core.Turn)), interrupts: make(chan os.Signal, 1), over: make(chan error, 1)}
	run := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		for {
			select {
			case step := <-s.steps:
				if step == nil {
					return core.StopEnd, nil
				}
				step(ctx, turn)
			case <-ctx.Done():
				return core.StopCanceled, nil
			}
		}
	}
	touch := coretest.Tool{Is: core.Spec{Server: core.Native, Name: "touch", Title: "Touch a file", Kind: core.KindEdit}}
	s.gateway = coretest.Gateway(coretest.NewMemory(), run, coretest.Always(core.Verdict{Effect: core.MustAsk, Why: "it writes", Remember: "touch", RememberText: "touching"}), touch)
	var err error
	if s.session, err = s.gateway.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"}); err != nil {
		t.Fatal(err)
	}
	s.editor = s.session.Attach(core.Client{Name: "Zed 0.212", Principal: core.Local, Asks: true, Questions: true})
	return s
}

// say is a step in which the agent speaks, in one message or as a part of it.
func say(words string, of ...core.MessageID) func(context.Context, *core.Turn) {
	return func(ctx context.Context, turn *core.Turn) {
		id := turn.NewMessage()
		if len(of) > 0 {
			id = of[0]
		}
		_ = turn.Emit(ctx, core.TextDelta{Message: id, Text: words}) // the turn may have been stopped
	}
}

// touches is a step that calls the tool.
func touches(ctx context.Context, turn *core.Turn) {
	_, _ = turn.Invoke(ctx, core.Call{ID: turn.NewCall(), Server: core.Native, Tool: "touch"}) // the turn may have been stopped
}

// takesUp is a step in which the turn reads the messages to it.
func takesUp(_ context.Context, turn *core.Turn) { turn.Steered() }

// prompts has the editor prompt.
func (s *shared) prompts(words string) {
	s.t.Helper()
	if _, err := s.editor.Prompt(s.t.Context(), core.Prompt{Blocks: text(words)}); err != nil {
		s.t.Fatal(err)
	}
}

// attach begins a chat over pipes.
func (s *shared) attach(change func(*ChatOptions)) {
	o := ChatOptions{
		Program: &program.Environment{Out: &s.out, Err: &s.errs, Lookup: func(string) (string, bool) { return "", false }},
		Gateway: s.gateway, Principal: core.Local, Session: s.session, Attach: true,
	}
	if change != nil {
		change(&o)
	}
	in, w := io.Pipe()
	s.in = w
	go func() { s.over <- converse(s.t.Context(), o, in, o.Program.Out, s.interrupts) }()
	synctest.Wait()
}

// types sends a line to the chat.
func (s *shared) types(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
}

// does has the turn that runs take steps.
func (s *shared) does(steps ...func(context.Context, *core.Turn)) {
	for _, step := range steps {
		s.steps <- step
		synctest.Wait()
	}
}

func (s *shared) wantOut(want string) {
	s.t.Helper()
	if got := s.out.String(); got != want {
		s.t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

func (s *shared) close() {
	s.t.Helper()
	s.editor.Close()
	if err := s.gateway.Close(context.Background()); err != nil {
		s.t.Error(err)
	}
}

// A pipe that only watches gets everything that others do, sends nothing, and ends with a signal
// or its output.
func TestAWatcherFollowsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		defer s.close()
		s.prompts("too early to be seen")
		s.does(say("a beginning\n"))
		s.attach(func(o *ChatOptions) { o.ReadOnly = true })
		s.does(say("an end\n"), nil)
		s.prompts("touch it")
		s.does(touches)
		asks := s.editor.Pending()
		if len(asks) != 1 {
			t.Fatalf("%d questions", len(asks))
		}
		if err := s.editor.Decide(t.Context(), asks[0].ID, core.AllowSession, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.prompts("and again")
		s.does(nil, nil)
		s.wantOut(`an end
Zed 0.212: touch it
? Touch a file · it writes
Zed 0.212 decided: yes, for this session
Zed 0.212 has queued: "and again"
Zed 0.212: and again
`)
		if err := s.session.Attach(core.Client{Role: core.Observe}); err.State().Messages != 5 {
			t.Errorf("%d messages", err.State().Messages)
		}
		s.interrupts <- syscall.SIGINT
		if err := <-s.over; err != nil {
			t.Error(err)
		}
	})
}

// Watching ends when nobody reads the output any more.
func TestAWatcherEndsWithItsOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		defer s.close()
		s.attach(func(o *ChatOptions) {
			o.ReadOnly = true
			o.Program.Out = unreadable{io.ErrClosedPipe}
		})
		s.prompts("go")
		s.does(nil)
		if err := <-s.over; !errors.Is(err, program.ExitError(program.ExitUnread)) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// Over a pipe a line is a prompt with a turn of its own, behind the turn of another client. A
// question of that turn is not for the pipe; the line after a question of its own is the answer.
func TestLinesOfAPipeWaitTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		defer s.close()
		s.prompts("first")
		s.attach(nil)
		s.does(touches)
		s.types("y")
		if len(s.editor.Pending()) != 1 {
			t.Error("a line of a pipe has answered the question of another client")
		}
		if err := s.editor.Decide(t.Context(), s.editor.Pending()[0].ID, core.RejectOnce, "not now"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.does(nil)
		s.does(touches)
		s.types("y")
		s.does(say("Done.\n"), nil)
		s.in.Close()
		if err := <-s.over; err != nil {
			t.Error(err)
		}
		s.wantOut(`? Touch a file · it writes
Queued: it begins when Zed 0.212's turn has ended.
Zed 0.212 decided: no: not now
✗ rejected: Touch a file (rejected by the user: not now)
> y
? Touch a file · it writes
answered: yes
Done.
`)
	})
}

// An interrupt stops the turn that was prompted here. Of another client's turn it says that it
// goes on, and leaves.
func TestAnInterruptStopsOnlyOwnTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		defer s.close()
		s.attach(nil)
		s.types("mine")
		s.interrupts <- syscall.SIGINT
		synctest.Wait()
		if s.editor.State().Turn != "" {
			t.Error("the chat's own turn goes on")
		}
		s.prompts("theirs")
		synctest.Wait()
		s.interrupts <- syscall.SIGINT
		if err := <-s.over; err != nil {
			t.Error(err)
		}
		if s.editor.State().Turn == "" {
			t.Error("another client's turn was stopped")
		}
		s.wantOut("The turn was cancelled.\nZed 0.212: theirs\n")
		s.does(nil)
	})
}

// Turns that would end with this process are waited for, until a second interrupt.
func TestAHostWaitsForTheTurnsOfOthers(t *testing.T) {
	for _, twice := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := share(t)
			defer s.close()
			s.attach(func(o *ChatOptions) { o.Hosts = func(core.SessionID) bool { return true } })
			s.prompts("theirs")
			synctest.Wait()
			s.interrupts <- syscall.SIGINT
			synctest.Wait()
			select {
			case err := <-s.over:
				t.Errorf("it left at once: %v", err)
			default:
			}
			if twice {
				s.interrupts <- syscall.SIGINT
			} else {
				s.does(say("The end.\n"), nil)
			}
			if err := <-s.over; err != nil {
				t.Error(err)
			}
			if twice {
				s.does(nil)
			} else if !strings.HasSuffix(s.out.String(), "leaves when it has ended. Ctrl-C ends both.\nThe end.\n") {
				t.Errorf("%s", s.out.String())
			}
		})
	}
}

// A session that is deleted ends the chat with an error.
func TestADeletedSessionEndsTheChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		defer s.close()
		s.attach(nil)
		if err := s.gateway.Delete(t.Context(), core.Local, s.session.Meta().ID, core.Deletion{All: true}); err != nil {
			t.Fatal(err)
		}
		if err := <-s.over; !errors.Is(err, errDeleted) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// Who else is there is said once, and then who comes and leaves.
func TestOtherClientsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		defer s.close()
		var b bytes.Buffer
		here := []string{"Zed 0.212", "Emacs 29"}
		c := &chat{tty: true, options: ChatOptions{
			Program: &program.Environment{Out: &b, Lookup: func(string) (string, bool) { return "", false }},
			Present: func(*core.Attachment) []string { return here },
		}}
		c.screen = c.newScreen(bufio.NewWriter(&b))
		for _, here = range [][]string{here, here, {"Emacs 29", "Emacs 29"}, {}} {
			c.present()
		}
		c.screen.flush()
		if got := b.String(); got != "also here: Zed 0.212, Emacs 29\nEmacs 29 has come.\nZed 0.212 has left.\nEmacs 29 has left.\nEmacs 29 has left.\n" {
			t.Errorf("%s", got)
		}
	})
}
