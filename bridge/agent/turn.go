package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/launch"
	"dragoman/core"
	"dragoman/core/display"
)

// answer is the agent's answer to session/prompt.
type answer struct {
	stop  acp.StopReason
	usage *core.Usage
	err   error
}

// Run implements core.Conversation.
func (c *conversation) Run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	if err := c.settle(ctx); err != nil {
		return core.StopError, err
	}
	c.enter(running{t, ctx})
	defer c.touch()
	c.keepMoved(running{t, ctx})
	if err := c.serving.Await(ctx, t); err != nil {
		return core.StopError, err
	}
	p, err := c.take(ctx, launch.Shown(ctx, t))
	if err != nil {
		return core.StopError, err
	}
	defer p.give()
	end, err := c.serving.Begin(ctx, t)
	if err != nil {
		return core.StopError, err
	}
	defer end()
	prompt, err := c.prompt(ctx, t, p)
	if err != nil {
		return core.StopError, err
	}
	return c.ask(ctx, t, p, prompt)
}

// ask sends the prompt, and returns when the agent has answered it, or ctx ends.
func (c *conversation) ask(ctx context.Context, t *core.Turn, p *peer, prompt []any) (core.StopReason, error) {
	c.mu.Lock()
	session := c.session
	done := make(chan struct{})
	c.answered, c.stopped = done, false
	c.tally.rejected = false
	c.mu.Unlock()
	got := make(chan answer, 1)
	_, err := p.conn.Start("session/prompt", map[string]any{"sessionId": session, "prompt": prompt}, func(raw json.RawMessage, err error) {
		c.flow.end() // everything before the answer has been emitted
		got <- answerOf(raw, err)
		c.mu.Lock()
		c.answered, c.stopped = nil, false
		c.grants = map[string]grant{}
		c.mu.Unlock()
		close(done)
		p.touch() // after a cancel the turn has ended before
	})
	if err != nil {
		c.mu.Lock()
		c.answered = nil
		c.mu.Unlock()
		close(done)
		return core.StopError, c.broken(p, err)
	}
	c.prompted(ctx)
	select {
	case a := <-got:
		return c.finish(ctx, t, p, a)
	case <-ctx.Done():
		c.mu.Lock()
		c.stopped = true
		c.mu.Unlock()
		_ = p.conn.Notify("session/cancel", acp.SessionID{SessionID: session}) // a program that has ended needs none
		c.b.wg.Go(func() { c.b.canceled(p, done) })
		return core.StopCanceled, context.Cause(ctx)
	}
}

// prompted notes that the agent has got the first prompt of its session.
func (c *conversation) prompted(ctx context.Context) {
	c.mu.Lock()
	lacked := c.heard != (core.Pos{})
	c.heard = core.Pos{}
	c.mu.Unlock()
	if !lacked {
		return
	}
	if err := c.keep(ctx); err != nil && ctx.Err() == nil {
		c.b.log("warn", "note that the agent's session was prompted: "+err.Error()) // it may be told twice what was said
	}
}

// answerOf reads the answer to session/prompt.
func answerOf(raw json.RawMessage, err error) answer {
	if err != nil {
		return answer{err: err}
	}
	var is struct {
		Stop  acp.StopReason `json:"stopReason"`
		Usage *struct {
			In         int `json:"inputTokens"`
			Out        int `json:"outputTokens"`
			CacheRead  int `json:"cachedReadTokens"`
			CacheWrite int `json:"cachedWriteTokens"`
			Thought    int `json:"thoughtTokens"`
		} `json:"usage"`
	}
	if err := wire.Unmarshal(raw, &is); err != nil {
		return answer{err: fmt.Errorf("the answer to session/prompt: %w", err)}
	}
	a := answer{stop: is.Stop}
	if u := is.Usage; u != nil {
		a.usage = &core.Usage{In: u.In, Out: u.Out, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Thought}
	}
	return a
}

// finish ends the turn as the agent's answer says.
func (c *conversation) finish(ctx context.Context, t *core.Turn, p *peer, a answer) (core.StopReason, error) {
	if a.err != nil {
		return core.StopError, c.broken(p, a.err)
	}
	c.count(ctx, t, a.usage)
	switch a.stop {
	case acp.StopEndTurn:
		return core.StopEnd, nil
	case acp.StopMaxTokens:
		return core.StopTokens, nil
	case acp.StopMaxTurns:
		return core.StopRequests, nil
	case acp.StopRefusal:
		return core.StopRefusal, nil
	case acp.StopCancelled:
		c.mu.Lock()
		rejected := c.tally.rejected
		c.mu.Unlock()
		if rejected { // some agents end a turn so after a no
			return core.StopEnd, nil
		}
		return core.StopCanceled, nil
	}
	_ = t.Emit(ctx, core.Notice{ // a stopped turn shows in ctx
		Severity: core.Warning,
		Text:     fmt.Sprintf("Agent %s ended the turn without a reason that is known (stopReason %q). Its answer may be incomplete.", c.b.o.Name, display.Line(string(a.stop), 40)),
	})
	return core.StopEnd, nil
}

// broken words the error of a prompt. If the program has ended, its last words are the reason.
func (c *conversation) broken(p *peer, err error) error {
	if errors.Is(err, wire.ErrClosed) {
		return fmt.Errorf("agent %s ended in the middle of the turn: %w", c.b.o.Name, p.reason())
	}
	if e := (*jrpc2.Error)(nil); errors.As(err, &e) && e.Code == jrpc2.InternalError {
		if text := refusal(e).Words(); text != "" {
			return errors.New(text) // the method and the code say nothing more
		}
	}
	err = c.b.failure("session/prompt", err)
	if signIn := (*core.SignInError)(nil); errors.As(err, &signIn) {
		p.signedOut(true)
		c.b.note(p.life, true)
	}
	return err
}

// canceled ends a program that does not answer a prompt that was cancelled: nobody knows what it
// still does, and it would keep its place for ever. done is closed by the answer.
func (b *Backend) canceled(p *peer, done <-chan struct{}) {
	limit := time.NewTimer(b.limits.cancel)
	defer limit.Stop()
	select {
	case <-done:
		return
	case <-limit.C:
	}
	b.disobeyed(p, "answer")
}

// disobeyed ends a program that has not done something in time after a cancel.
func (b *Backend) disobeyed(p *peer, what string) {
	b.log("warn", fmt.Sprintf("agent %s did not %s within %v after a cancel, and was ended", b.o.Name, what, b.limits.cancel))
	p.end(fmt.Errorf("it did not %s within %v after a cancel", what, b.limits.cancel))
}

// settle waits until the agent has answered the prompt before, which was cancelled, or was ended
// because it did not.
func (c *conversation) settle(ctx context.Context) error {
	c.mu.Lock()
	done := c.answered
	c.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter makes a turn the one that updates belong to. It begins with those that came while the
// session was being opened.
func (c *conversation) enter(r running) {
	c.mu.Lock()
	ahead := c.ahead
	c.ahead = nil
	c.mu.Unlock()
	if len(ahead) > 0 {
		_ = r.turn.Emit(r.ctx, ahead...) // a turn that was stopped needs none
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run = r
	c.stopped = false
	c.used = c.b.o.Time()
	close(c.changed)
	c.changed = make(chan struct{})
}

// touch notes the end of a turn: the program may be idle now.
func (c *conversation) touch() {
	c.mu.Lock()
	c.used = c.b.o.Time()
	p := c.peer
	c.mu.Unlock()
	if p != nil {
		p.touch()
	}
}

// emit adds events to the turn that runs. Without one it begins a turn that nobody prompted, so
// that what an agent says after its answer reaches every client. It reports whether the log has
// the events.
func (c *conversation) emit(events ...core.Event) bool {
	for {
		c.mu.Lock()
		r, changed, drop := c.run, c.changed, c.stopped || c.muted
		if drop {
			c.dropped = time.Now()
		}
		c.mu.Unlock()
		if drop {
			return false
		}
		if r.turn != nil {
			err := r.turn.Emit(r.ctx, of(r.turn, events)...)
			if err == nil {
				return true
			}
			if !errors.Is(err, core.ErrOver) {
				return false // it was stopped, or cannot be stored
			}
		}
		if c.opens() {
			return c.hold(events)
		}
		err := c.beginTurn(r.turn)
		if err == nil {
			continue
		}
		if busy := (*core.BusyError)(nil); !errors.As(err, &busy) {
			return false
		}
		// The next prompt's turn has begun, or the last one is about to end.
		limit := time.NewTimer(time.Second)
		select {
		case <-changed:
		case <-limit.C:
		}
		limit.Stop()
		if c.isClosed() {
			return false
		}
	}
}

// beginTurn begins a turn that nobody prompted, behind another one that has ended.
func (c *conversation) beginTurn(before *core.Turn) error {
	ctx := context.Background()
	if p := c.program(); p != nil {
		ctx = p.life
	}
	next, err := c.bind.Host.Begin(ctx, core.Origin{})
	if err == nil {
		c.begun(ctx, next, before)
	}
	return err
}

// begun makes a turn that nobody prompted the one that updates belong to, unless a prompt has ended it
// already and before is not the last one any more. If it is stopped, the agent is told.
func (c *conversation) begun(life context.Context, t, before *core.Turn) {
	ctx, end := context.WithCancelCause(life)
	c.mu.Lock()
	if c.run.turn == before {
		c.run = running{t, ctx}
		close(c.changed)
		c.changed = make(chan struct{})
	}
	c.mu.Unlock()
	context.AfterFunc(t.Context(), func() { // not before: stop looks for the turn
		why := context.Cause(t.Context())
		end(why)
		if errors.Is(why, core.ErrCanceled) {
			c.stop(t)
		}
	})
}

// stop has the agent stop what it does without a prompt. What still comes of it is dropped. A program
// that has not stopped after a while is ended, like one that does not answer a prompt that was cancelled.
func (c *conversation) stop(t *core.Turn) {
	if c.parent != nil {
		c.stopSubagent()
		return
	}
	c.mu.Lock()
	p, session, limit := c.peer, c.session, c.b.limits.cancel
	if c.run.turn != t || p == nil { // a prompt has come, or the program has ended
		c.mu.Unlock()
		return
	}
	c.stopped = true
	c.mu.Unlock()
	_ = p.conn.Notify("session/cancel", acp.SessionID{SessionID: session}) // a program that has ended needs none
	time.AfterFunc(limit, func() {
		c.mu.Lock()
		same := c.run.turn == t
		goesOn := same && c.peer == p && time.Since(c.dropped) < limit/2
		if same {
			c.stopped = false
		}
		c.mu.Unlock()
		if goesOn {
			c.b.disobeyed(p, "stop")
		}
	})
}

// leaveFor limits the wait for the end of a turn whose prompt the agent has answered.
const leaveFor = 2 * time.Second

// leaveTurn waits for the end of a turn whose prompt the agent has answered: what it asks now belongs
// to no prompt, and a question would be withdrawn with the turn.
func (c *conversation) leaveTurn() {
	c.mu.Lock()
	r, answered := c.run, c.answered == nil
	c.mu.Unlock()
	if r.turn == nil || !answered || r.turn.Begun() {
		return
	}
	limit := time.NewTimer(leaveFor)
	defer limit.Stop()
	select {
	case <-r.ctx.Done():
	case <-limit.C:
	}
}

// of returns events as those of a turn: it may have begun after they were made.
func of(t *core.Turn, events []core.Event) []core.Event {
	for i, ev := range events {
		was := t.ID()
		switch e := any(ev).(type) {
		case core.CallChanged:
			was, e.Call.Turn = e.Call.Turn, t.ID()
			ev = e
		case core.Phase:
			was, e.Turn = e.Turn, t.ID()
			ev = e
		case core.Compacted:
			was, e.Turn = e.Turn, t.ID()
			ev = e
		}
		if was != t.ID() {
			events = slices.Clone(events)
			events[i] = ev
		}
	}
	return events
}

func (c *conversation) opens() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opening
}

// maxAhead limits the events that are held back while a session is being opened.
const maxAhead = 1000

// hold keeps events for the next turn. While the session is being opened no turn may begin for
// them, because one may be waiting for that, and waiting here would keep the answer from being
// read. Calls are dropped: what an agent does before it is asked belongs to no turn.
func (c *conversation) hold(events []core.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ev := range events {
		_, call := ev.(core.CallChanged)
		if _, output := ev.(core.CallOutput); call || output {
			return false
		}
	}
	if len(c.ahead)+len(events) > maxAhead {
		return false
	}
	c.ahead = append(c.ahead, events...)
	return true
}

func (c *conversation) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// isStopped reports whether the user has stopped what the agent does.
func (c *conversation) isStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

// notice shows the user a text, in a turn or not.
func (c *conversation) notice(s core.Severity, text string) {
	// Nobody can be told of an error.
	_ = c.bind.Host.Publish(context.Background(), core.Notice{Severity: s, Text: "Agent " + c.b.o.Name + ": " + text})
}
