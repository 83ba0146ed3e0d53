package shell

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/core/child"
	"dragoman/core/display"
)

const (
	maxKept    = 1 << 20 // bytes of a terminal's output
	maxRunning = 32      // terminals that run at a time
	maxEnded   = 32      // terminals that have ended and were not released
	termGrace  = 2 * time.Second
)

// Terminals runs the commands of one session's agent. Shell and Guard must be set. Any goroutine
// may call its methods.
type Terminals struct {
	Shell   Shell
	Guard   Starter
	Environ func() []string // the environment that commands inherit from; nil: os.Environ
	Keep    []string        // further variables of it that commands get, written like child.Safe
	Grace   time.Duration   // between SIGTERM and SIGKILL; 0: 2 seconds

	running sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	closed bool
	list   []*Terminal // in the order of their start
}

// ErrClosed says that the session of the terminals has ended.
var ErrClosed = errors.New("the session has ended")

// Line returns a request as one command line: see [Request.Line].
func (ts *Terminals) Line(r Request) string { return r.Line(environ(ts.Environ, ts.Keep)) }

// Start runs a command and returns once it runs. The command does not end with ctx. The caller has
// asked policy, for exactly Line(r) in r.Dir. Of terminals that have ended and were not released
// the newest are kept.
func (ts *Terminals) Start(ctx context.Context, r Request) (*Terminal, error) {
	c, err := r.command(ts.Shell, environ(ts.Environ, ts.Keep))
	if err != nil {
		return nil, err
	}
	c.Guard, c.Grace = ts.Guard, ts.Grace
	if c.Grace == 0 {
		c.Grace = termGrace
	}
	t := &Terminal{
		ID: "term-" + strings.ToLower(rand.Text()[:10]), set: ts,
		begun: make(chan struct{}), done: make(chan struct{}), out: ending{limit: r.Limit},
	}
	if r.Limit <= 0 || r.Limit > maxKept {
		t.out.limit = maxKept
	}
	c.Begun = func() { close(t.begun) }
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.cancel = cancel
	if err := ts.add(t, func() { t.run(life, c, r) }); err != nil {
		cancel()
		return nil, err
	}
	select {
	case <-t.begun:
		return t, nil
	case <-t.done: // it may have begun as well
	}
	if t.failed != nil {
		ts.forget(t)
		return nil, fmt.Errorf("start %s: %w", display.Visible(c.Argv[0]), t.failed)
	}
	return t, nil
}

// add adds a terminal and starts its goroutine.
func (ts *Terminals) add(t *Terminal, run func()) error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var ended []*Terminal
	for _, o := range ts.list {
		if o.Ended() {
			ended = append(ended, o)
		}
	}
	switch {
	case ts.closed:
		return ErrClosed
	case len(ts.list)-len(ended) >= maxRunning:
		return fmt.Errorf("%d commands run already: end one of them first", maxRunning)
	}
	old := ended[:max(len(ended)-maxEnded, 0)]
	ts.list = append(slices.DeleteFunc(ts.list, func(o *Terminal) bool { return slices.Contains(old, o) }), t)
	ts.running.Go(run)
	return nil
}

func (ts *Terminals) forget(t *Terminal) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.list = slices.DeleteFunc(ts.list, func(o *Terminal) bool { return o == t })
}

// Find returns the terminal with this ID; nil: there is none, or no more.
func (ts *Terminals) Find(id string) *Terminal {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.list {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// Busy reports whether a command runs.
func (ts *Terminals) Busy() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return slices.ContainsFunc(ts.list, func(t *Terminal) bool { return !t.Ended() })
}

// Close ends all commands, waits for that, and starts none any more. Their daemons end with Guard.
func (ts *Terminals) Close() {
	ts.mu.Lock()
	list := ts.list
	ts.closed, ts.list = true, nil
	ts.mu.Unlock()
	for _, t := range list {
		t.cancel()
	}
	ts.running.Wait()
}

// Terminal is a command of an agent, running or ended. It is kept until it is released.
type Terminal struct {
	ID string

	set    *Terminals
	cancel context.CancelFunc
	begun  chan struct{} // closed when the command runs
	done   chan struct{} // closed when it has ended and all of its output is kept
	failed error         // why it could not start; set before done

	mu   sync.Mutex // guards the fields below
	out  ending
	exit *Exit
}

// Exit describes how a command has ended.
type Exit struct {
	Code   int    // the exit code; -1: a signal ended it, or there is none
	Signal string // the name of that signal, such as SIGKILL; "": none did
}

// Output is what a command has printed so far.
type Output struct {
	Text      string // its end, if the limit is reached
	Truncated bool   // Text is not all
	Exit      *Exit  // nil: the command runs
}

func (t *Terminal) run(ctx context.Context, c Command, r Request) {
	defer close(t.done)
	defer t.cancel()
	emit := r.Output
	if emit == nil {
		emit = func(string) {}
	}
	end, err := c.Run(ctx, func(r *os.File) { Stream(r, t.keep, emit) })
	if r.Remarks != nil && err == nil {
		if text := r.Remarks(); text != "" {
			t.keep(text)
			emit(text)
		}
	}
	exit := &Exit{Code: end.Code, Signal: child.SignalName(end.Signal)}
	t.mu.Lock()
	t.out.shrink()
	t.failed = err
	t.mu.Unlock()
	if r.Ended != nil && err == nil {
		out := t.Output()
		out.Exit = exit
		r.Ended(out)
	}
	t.mu.Lock()
	t.exit = exit
	t.mu.Unlock()
}

func (t *Terminal) keep(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out.add(text)
}

// Done is closed when the command has ended and all of its output is kept.
func (t *Terminal) Done() <-chan struct{} { return t.done }

// Ended reports whether Done is closed.
func (t *Terminal) Ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// Output returns what the command has printed so far, also after Kill and Release.
func (t *Terminal) Output() Output {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.out.text()
	return Output{Text: text, Truncated: t.out.total > int64(len(text)), Exit: t.exit}
}

// Wait waits until the command has ended, and returns how. ctx ends the waiting alone.
func (t *Terminal) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-t.done:
		t.mu.Lock()
		defer t.mu.Unlock()
		return *t.exit, nil
	case <-ctx.Done():
		return Exit{}, context.Cause(ctx)
	}
}

// Kill ends the command and all that it has started, and waits for that; Request.Output must not
// call it. ctx ends the waiting alone. The terminal is still there.
func (t *Terminal) Kill(ctx context.Context) error {
	t.cancel()
	_, err := t.Wait(ctx)
	return err
}

// Release is Kill, and forgets the terminal.
func (t *Terminal) Release(ctx context.Context) error {
	t.set.forget(t)
	return t.Kill(ctx)
}

// ending keeps the end of a text.
type ending struct {
	limit int
	total int64 // bytes of the whole text
	buf   []byte
}

func (e *ending) add(text string) {
	e.total += int64(len(text))
	e.buf = append(e.buf, text...)
	if len(e.buf) > 2*e.limit {
		e.buf = append(e.buf[:0], display.CutEnd(e.buf, e.limit)...)
	}
}

// shrink gives back the memory that only further text would need.
func (e *ending) shrink() { e.buf = slices.Clone(display.CutEnd(e.buf, e.limit)) }

func (e *ending) text() string { return string(display.CutEnd(e.buf, e.limit)) }
