package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/agent/stage"
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
	c.enter(ctx, t)
	defer c.touch()
	c.keepMoved(ctx, t)
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
	c.stage.Resume()
	c.mu.Lock()
	session := c.session
	done := make(chan struct{})
	c.answered = done
	c.tally.rejected = false
	c.mu.Unlock()
	got := make(chan answer, 1)
	_, err := p.conn.Start("session/prompt", map[string]any{"sessionId": session, "prompt": prompt}, func(raw json.RawMessage, err error) {
		c.flow.end() // everything before the answer has been emitted
		got <- answerOf(raw, err)
		c.stage.Resume()
		c.mu.Lock()
		c.answered = nil
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
		c.stage.Stop()
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

// enter makes a turn the one that updates belong to.
func (c *conversation) enter(ctx context.Context, t *core.Turn) {
	c.stage.Enter(ctx, t)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = c.b.o.Time()
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

// newStage returns the stage of a conversation.
func (c *conversation) newStage() *stage.Stage {
	return stage.New(stage.Config{
		Host: c.bind.Host, Life: c.life, Opens: c.opens, Stopped: c.stop,
		Drops: func() bool { return c.parent == nil || c.cancellable() }, // a sub-agent that cannot be stopped works on
	})
}

// life returns the context of the program; without one it never ends.
func (c *conversation) life() context.Context {
	if p := c.program(); p != nil {
		return p.life
	}
	return context.Background()
}

// stop has the agent stop what it does without a prompt. A program
// that has not stopped after a while is ended, like one that does not answer a prompt that was cancelled.
func (c *conversation) stop(t *core.Turn) {
	if c.parent != nil {
		c.stopSubagent()
		return
	}
	c.mu.Lock()
	p, session, limit := c.peer, c.session, c.b.limits.cancel
	c.mu.Unlock()
	if p == nil { // it has ended
		return
	}
	_ = p.conn.Notify("session/cancel", acp.SessionID{SessionID: session}) // a program that has ended needs none
	time.AfterFunc(limit, func() {
		dropped, same := c.stage.ResumeIn(t)
		if same && c.program() == p && time.Since(dropped) < limit/2 {
			c.b.disobeyed(p, "stop")
		}
	})
}

// leaveFor limits the wait for the end of a turn whose prompt the agent has answered.
const leaveFor = 2 * time.Second

// leaveTurn waits for the end of a turn whose prompt the agent has answered: what it asks now belongs
// to no prompt, and a question would be withdrawn with the turn.
func (c *conversation) leaveTurn() {
	ctx, t := c.stage.Running()
	c.mu.Lock()
	answered := c.answered == nil
	c.mu.Unlock()
	if t == nil || !answered || t.Begun() {
		return
	}
	limit := time.NewTimer(leaveFor)
	defer limit.Stop()
	select {
	case <-ctx.Done():
	case <-limit.C:
	}
}

// opens reports whether the session is being opened in the program.
func (c *conversation) opens() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opening
}

// notice shows the user a text, in a turn or not.
func (c *conversation) notice(s core.Severity, text string) {
	// Nobody can be told of an error.
	_ = c.bind.Host.Publish(context.Background(), core.Notice{Severity: s, Text: "Agent " + c.b.o.Name + ": " + text})
}
