package core

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"dragoman/core/internal/bench"
)

// toolsets is the toolsets that a session has opened. The goroutine that runs turns owns it; calls
// that run read its list of tools, too.
type toolsets = bench.Bench[Toolbox, Toolset, Tool, Spec]

// Tools lists the current tools, in an order that stays the same within the session while they
// do. Tools that have been added since the last call are included. One goroutine at a time calls it.
func (t *Turn) Tools(ctx context.Context) ([]Spec, error) {
	if t.tools == nil {
		return nil, nil
	}
	if err := t.tools.Refresh(ctx); err != nil {
		return nil, err
	}
	return t.tools.Specs(), nil
}

// Starters lists the toolsets whose tools come from servers.
func (t *Turn) Starters() []Starter { return starters(t.tools.Sets()) }

// silentWait is the part of a wait for servers that is not shown.
const silentWait = 300 * time.Millisecond

// AwaitServers waits a little for servers of the turn's tools that are starting, or for their whole start
// where nobody watches the turn, and shows that it waits. It returns the names of those that are starting still. An error means that the turn
// must end: it was stopped, or a server that it needs has not started.
func (t *Turn) AwaitServers(ctx context.Context) (slow []string, err error) {
	servers, whole := t.Starters(), t.prompt.Unattended
	brief, enough := context.WithTimeout(ctx, silentWait)
	awaitAll(brief, servers, whole)
	waits := brief.Err() != nil // otherwise all have had their time
	enough()
	if names := starting(servers); waits && len(names) > 0 {
		if err := t.Emit(ctx, Phase{Turn: t.id, Kind: PhaseStarting, Tool: strings.Join(names, ", ")}); err != nil {
			return nil, err
		}
		awaitAll(ctx, servers, whole)
	}
	if t.prompt.NeedsServers {
		for _, s := range servers {
			if err := s.Require(ctx); err != nil {
				return nil, err
			}
		}
	}
	return starting(servers), ctx.Err()
}

func awaitAll(ctx context.Context, servers []Starter, whole bool) {
	for _, s := range servers {
		s.Await(ctx, whole)
	}
}

func starting(servers []Starter) (names []string) {
	for _, s := range servers {
		names = append(names, s.Starting()...)
	}
	return names
}

func starters(sets []Toolset) (list []Starter) {
	for _, set := range sets {
		if s, ok := set.(Starter); ok {
			list = append(list, s)
		}
	}
	return list
}

// Invoke runs a tool, and is the one way to do so: the call is proposed (if that
// was not done), previewed, put to policy and, where that says so, to a person,
// made durable, and run; its result is in the log before Invoke returns. Only
// ID, Server, Tool and Args of the call are used. The rules at its beginning judge it, even
// if a person is asked and answers later. Failures for the model (no such tool, rejected,
// failed) are a Result with Failed set; an error means that the turn must end. Calls may be
// invoked in parallel.
func (t *Turn) Invoke(ctx context.Context, c Call) (Result, error) {
	c, tool, err := t.propose(ctx, c)
	if err != nil {
		return Result{}, err
	}
	if tool == nil {
		return t.fail(ctx, c, Errored, fmt.Sprintf("there is no tool %q here", strings.TrimPrefix(c.Server+"/"+c.Tool, Native+"/")))
	}
	prof, err := t.s.rules(ctx)
	if err != nil {
		return t.fail(ctx, c, Rejected, "rejected: "+err.Error())
	}
	inv := Invocation{Call: c.ID, Turn: t.id, Args: c.Args, Origin: t.origin}
	pv, err := guarded(ctx, tool, tool.Preview, inv)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		return t.fail(ctx, c, Errored, err.Error())
	}
	c = described(c, pv)
	if err := t.Emit(ctx, CallChanged{c}); err != nil {
		return Result{}, err
	}
	r, err := t.authorize(ctx, c, Check{Spec: tool.Spec(), Access: pv.Access, Origin: t.origin}, prof, nil)
	if err != nil {
		return Result{}, err
	}
	if c.Why = r.Why; !r.Decision.Allows() {
		return t.fail(ctx, c, Rejected, r.Why)
	}
	c.State, c.Start = Running, t.s.now()
	if err := t.Emit(ctx, CallChanged{c}); err != nil {
		return Result{}, err
	}
	// The barrier: a decision is on the disk before the call has an effect.
	if err := t.s.durable(ctx, t.s.Head()); err != nil {
		return Result{}, err
	}
	inv.Access = pv.Access
	inv.Output = func(text string) { _ = t.Emit(ctx, CallOutput{c.ID, text}) } // a stopped turn shows in ctx
	inv.Plan = func(p []PlanEntry) { _ = t.Emit(ctx, PlanChanged{p}) }
	var mu sync.Mutex // guards c until the tool has returned
	inv.Show = func(sh Showing) {
		mu.Lock()
		c = c.showing(sh)
		now := c
		mu.Unlock()
		_ = t.Emit(ctx, CallChanged{now})
	}
	res, err := guarded(ctx, tool, tool.Run, inv)
	mu.Lock()
	shown := c
	mu.Unlock()
	if ctx.Err() != nil {
		if err != nil {
			t.left(c.ID, res)
		}
		return Result{}, context.Cause(ctx)
	}
	if err != nil {
		return t.fail(ctx, shown, Errored, err.Error())
	}
	return res, t.ended(ctx, shown, res)
}

// left records the output that a stopped call returns with its error. It does not wait for
// clients that are behind, so that a stopped turn ends.
func (t *Turn) left(id CallID, res Result) {
	s := t.s
	s.mu.Lock()
	var events []Event
	if s.turn == t && !t.over && s.state.calls[id].State == Running {
		for _, b := range res.Blocks {
			if b, ok := b.(Text); ok {
				events = append(events, CallOutput{id, b.Text})
			}
		}
	}
	s.appendUnlock(events...)
}

// Proposal returns the event that shows a call that is going to be invoked, as far as its arguments
// describe it. It is for calls that wait: Invoke shows its own.
func (t *Turn) Proposal(c Call) Event {
	call, _, _ := t.proposal(t.ctx, c)
	return CallChanged{call}
}

// propose gives the call its place in the log and finds its tool; nil: none.
func (t *Turn) propose(ctx context.Context, c Call) (Call, Tool, error) {
	call, tool, known := t.proposal(ctx, c)
	if known {
		return call, tool, nil
	}
	return call, tool, t.Emit(ctx, CallChanged{call})
}

// proposal returns a call as it is proposed, its tool, and whether the log has it.
func (t *Turn) proposal(ctx context.Context, c Call) (call Call, tool Tool, known bool) {
	t.s.mu.Lock()
	var was Call
	was, known = t.s.state.calls[c.ID]
	t.s.mu.Unlock()
	tool, _ = t.tools.Tool(bench.Name{Server: c.Server, Tool: c.Tool})
	call = Call{ID: c.ID, Turn: t.id, Server: c.Server, Tool: c.Tool, Kind: KindOther, State: Proposed, Args: c.Args, Meta: c.Meta}
	if known {
		call.Kind, call.Title = was.Kind, was.Title
	}
	if tool != nil {
		spec := tool.Spec()
		call.Kind = spec.Kind
		if call.Title == "" {
			call.Title = spec.Title
		}
	}
	if len(call.Args) == 0 {
		call.Args = json.RawMessage("{}")
	}
	if d, ok := tool.(Describer); ok {
		describe := func(_ context.Context, inv Invocation) (Preview, error) { return d.Describe(inv.Args), nil }
		if pv, err := guarded(ctx, tool, describe, Invocation{Args: call.Args}); err == nil {
			call = described(call, pv)
		}
	}
	return call, tool, known
}

func described(c Call, pv Preview) Call {
	if pv.Title != "" {
		c.Title = pv.Title
	}
	if pv.Kind != "" {
		c.Kind = pv.Kind
	}
	c.Locations, c.Content = pv.Locations, pv.Content
	return c
}

// showing is a running call as its tool wants it shown.
func (c Call) showing(sh Showing) Call {
	if sh.Title != "" {
		c.Title = sh.Title
	}
	if sh.Content != nil {
		c.Content = sh.Content
	}
	if sh.Child != "" {
		c.Child = sh.Child
	}
	if sh.Meta != nil {
		c.Meta = sh.Meta
	}
	if sh.Spent != (Expense{}) {
		c.Spent = sh.Spent
	}
	return c
}

// fail ends a call without a result; the model gets the reason.
func (t *Turn) fail(ctx context.Context, c Call, state CallState, why string) (Result, error) {
	c.State, c.Why, c.End = state, why, t.s.now()
	if state == Errored {
		c.Content = append(c.Content[:len(c.Content):len(c.Content)], Text{why})
	}
	return Result{Blocks: []Block{Text{why}}, Failed: true}, t.Emit(ctx, CallChanged{c})
}

// ended records the result of a call.
func (t *Turn) ended(ctx context.Context, c Call, res Result) error {
	c.State, c.End = Succeeded, t.s.now()
	if res.Failed {
		c.State = Errored
	}
	var kept []Block // the diff stays, followed by the result
	for _, b := range c.Content {
		if _, ok := b.(Diff); ok {
			kept = append(kept, b)
		}
	}
	c.Content = append(kept, res.Blocks...)
	if len(res.Locations) > 0 {
		c.Locations = res.Locations
	}
	c.Output, c.Spill = res.Structured, res.Spill
	if res.Meta != nil {
		c.Meta = res.Meta
	}
	return t.Emit(ctx, CallChanged{c})
}

// guarded calls a function of a tool, and keeps its panic from ending the process.
func guarded[T any](ctx context.Context, tool Tool, f func(context.Context, Invocation) (T, error), inv Invocation) (got T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error in tool %s: %v", tool.Spec().Name, p)
		}
	}()
	return f(ctx, inv)
}
