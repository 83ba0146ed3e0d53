// Package stage finds the turn that an external agent's events belong to. An agent speaks when it wants:
// while its session is being opened, in the turn of a prompt, after its answer, and after a stop.
//
// No lock is held while events are added, a turn begins, or a function of [Config] runs.
package stage

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/core"
)

// Config holds the parts of a back end that its stage uses.
type Config struct {
	Host core.Host
	// Life returns the context of the agent's program: a turn that nobody prompted ends with it.
	Life func() context.Context
	// Opens reports whether the session is being opened in the program.
	Opens func() bool
	// Stopped is called when somebody has stopped a turn that nobody prompted, unless a prompt has come. What the
	// agent still says is dropped, if Drops reports that (nil: it does).
	Stopped func(*core.Turn)
	Drops   func() bool
	// Strict has a closed stage drop all events, and a muted one also those that need no turn.
	Strict bool
}

// Stage has the turn that the events of one session belong to. Its methods may be called by any goroutine.
type Stage struct {
	c Config

	mu      sync.Mutex // guards the fields below
	run     running
	changed chan struct{} // closed when run is another one
	ahead   []core.Event  // came while the session was being opened, and belong to the next turn
	stopped bool          // the user has stopped the turn: what still comes belongs to it
	halted  *core.Turn    // the last one that nobody prompted and that was stopped
	muted   bool          // events repeat what the log has
	dropped time.Time     // when the newest event came that was dropped
	closed  bool
}

// running is the turn that events belong to.
type running struct {
	turn *core.Turn
	ctx  context.Context //nolint:containedctx // ends the wait for clients that are far behind
}

// New returns a stage without a turn.
func New(c Config) *Stage { return &Stage{c: c, changed: make(chan struct{})} }

// Current returns the turn that events belong to; nil: there was none yet. It may have ended.
func (s *Stage) Current() *core.Turn {
	_, t := s.Running()
	return t
}

// Running returns the turn that events belong to, and the context with which it was entered.
func (s *Stage) Running() (context.Context, *core.Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.ctx, s.run.turn
}

// Enter makes the turn of a prompt the one that events belong to. It begins with those that came while the
// session was being opened.
func (s *Stage) Enter(ctx context.Context, t *core.Turn) {
	s.mu.Lock()
	ahead := s.ahead
	s.ahead = nil
	s.mu.Unlock()
	if len(ahead) > 0 {
		_ = t.Emit(ctx, ahead...) // a turn that was stopped needs none
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = false
	s.turnLocked(ctx, t)
}

// Begin begins a turn that nobody prompted, behind another one that has ended. Events belong to it, unless a
// prompt has ended it already and before is not the last one any more.
func (s *Stage) Begin(before *core.Turn) error {
	life := s.c.Life()
	t, err := s.c.Host.Begin(life, core.Origin{})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(life)
	s.mu.Lock()
	if s.run.turn == before {
		s.turnLocked(ctx, t)
	}
	s.mu.Unlock()
	context.AfterFunc(t.Context(), func() { // not before: halt looks for the turn
		end(context.Cause(t.Context()))
		if s.halt(t) {
			s.c.Stopped(t)
		}
	})
	return nil
}

// halt drops what still comes of a turn that nobody prompted, if the user has stopped it and no prompt has
// come. It reports whether that is so. An event may see the end of the turn before anybody else does.
func (s *Stage) halt(t *core.Turn) bool {
	if !t.Begun() || !errors.Is(context.Cause(t.Context()), core.ErrCanceled) {
		return false
	}
	drops := s.c.Drops == nil || s.c.Drops()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run.turn != t {
		return false
	}
	if s.halted != t {
		s.halted, s.stopped = t, s.stopped || drops
	}
	return true
}

// turnLocked makes a turn the one that events belong to.
func (s *Stage) turnLocked(ctx context.Context, t *core.Turn) {
	s.run = running{t, ctx}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Stop drops what still comes, because the user has stopped the turn, until Resume or the turn of the next
// prompt.
func (s *Stage) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
}

// Resume shows events again after a stop.
func (s *Stage) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = false
}

// ResumeIn is Resume if events still belong to t, and reports whether they do. dropped is when the newest
// event came that was dropped.
func (s *Stage) ResumeIn(t *core.Turn) (dropped time.Time, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run.turn != t {
		return s.dropped, false
	}
	s.stopped = false
	return s.dropped, true
}

// Stopped reports whether the user has stopped what the agent does.
func (s *Stage) Stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// Mute drops what the agent repeats that the log has.
func (s *Stage) Mute(muted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.muted = muted
}

// Muted reports whether the agent repeats what the log has.
func (s *Stage) Muted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.muted
}

// Close ends what waits for a turn, and reports whether the stage was open. One that is strict drops what
// still comes.
func (s *Stage) Close() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.closed
	s.closed = true
	return !was
}

func (s *Stage) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}
