package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/judge"
	"dragoman/core"
)

// permit answers session/request_permission.
type permit struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId,omitempty"`
	} `json:"outcome"`
}

func selected(id string) (p permit) {
	p.Outcome.Outcome, p.Outcome.OptionID = "selected", id
	return p
}

func cancelled() (p permit) {
	p.Outcome.Outcome = "cancelled"
	return p
}

// grant is a permission that was given: what the call may do until it ends, and in its turn.
type grant struct {
	turn   *core.Turn
	call   core.CallID
	access []core.Access
}

// maxOptions limits the answers that a person can be offered.
const maxOptions = 50

// permission takes session/request_permission on the reading goroutine, and returns the rest of the
// work, which waits for the decision.
func (c *conversation) permission(params json.RawMessage) func(context.Context) (any, error) {
	var q struct {
		ToolCall rawCall `json:"toolCall"`
		Options  []struct {
			ID   string             `json:"optionId"`
			Name string             `json:"name"`
			Kind acp.PermissionKind `json:"kind"`
		} `json:"options"`
	}
	if err := wire.Unmarshal(params, &q); err != nil || q.ToolCall.ID == "" {
		return func(context.Context) (any, error) {
			return nil, jrpc2.Errorf(jrpc2.InvalidParams, "session/request_permission: no toolCallId: %v", err)
		}
	}
	if len(q.Options) > maxOptions {
		return func(context.Context) (any, error) {
			return nil, jrpc2.Errorf(jrpc2.InvalidParams, "session/request_permission: %d options, and at most %d can be shown", len(q.Options), maxOptions)
		}
	}
	options := make([]core.Option, len(q.Options))
	for i, o := range q.Options {
		options[i] = core.Option{ID: o.ID, Label: o.Name, Decision: decisions[o.Kind]}
	}
	f := &c.flow
	f.pause()
	c.leaveTurn()
	u := q.ToolCall
	u.Status = "" // it is always pending
	tc := f.described(u)
	c.mark(options, tc.call.Kind)
	once := optionOf(options, core.AllowOnce)
	if tc.ours && once != "" { // the call itself is asked about when it comes to our server
		return func(context.Context) (any, error) { return selected(once), nil }
	}
	if c.asking(tc) || tc.call.State.Ended() || tc.call.State == core.Running && !c.takeHeld(tc) {
		// It is asked about again, for something else: a call of its own in the log.
		ended := !c.asking(tc) && tc.call.State.Ended()
		c.mu.Lock()
		tc = &toolCall{theirs: tc.theirs, turn: tc.turn, call: tc.call}
		c.mu.Unlock()
		if ended { // what the agent says from here on is about this one
			f.calls[tc.theirs.ID] = tc
		}
		tc.call.ID, tc.call.State, tc.call.Why = core.CallID(f.newID("c")), "", ""
	}
	j := c.judging().Of(tc.theirs.neutral())
	tc.line = j.Line()
	tc.call.Title = judge.Titled(tc.call.Title, tc.line)
	if tc.call.State == "" {
		tc.call.State = core.Proposed
		f.emit(core.CallChanged{Call: tc.call})
	}
	c.mu.Lock()
	tc.asking, tc.held = true, false
	c.mu.Unlock()
	call, id := tc.call, tc.theirs.ID
	return func(ctx context.Context) (any, error) {
		reply, err := c.authorize(ctx, &call, j, options)
		turn := c.stage.Current()
		c.mu.Lock()
		tc.asking, tc.call = false, call
		if err == nil && reply.Decision.Allows() {
			c.grants[id] = grant{turn, call.ID, j.Access}
		} else {
			c.tally.rejected = true
		}
		c.mu.Unlock()
		if err != nil {
			return cancelled(), nil
		}
		return optionFor(options, reply), nil
	}
}

// takeHeld reports whether a call that was reported to run is not shown so yet.
func (c *conversation) takeHeld(tc *toolCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := tc.held
	tc.held = false
	return held
}

// heldOn is the opposite of takeHeld. If the hold's time has passed meanwhile, what follows shows the call.
func (c *conversation) heldOn(tc *toolCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tc.held = true
}

var decisions = map[acp.PermissionKind]core.Decision{
	acp.AllowOnce: core.AllowOnce, acp.AllowAlways: core.AllowSession, acp.RejectOnce: core.RejectOnce, acp.RejectAlways: core.RejectAlways,
}

// maxAgain limits how often a call is asked about again because its turn has ended under the
// question.
const maxAgain = 5

// authorize asks the gate about a call, and leaves in it the state that the log has. A turn may end
// under the question without having been stopped: the agent has answered the prompt meanwhile, or
// the user prompts. Then it is asked again, in another turn.
func (c *conversation) authorize(ctx context.Context, call *core.Call, j judge.Judged, options []core.Option) (reply core.Reply, err error) {
	if c.stage.Stopped() {
		call.State = core.Canceled
		return reply, core.ErrCanceled
	}
	for range maxAgain {
		reply, err = c.bind.Host.Authorize(ctx, core.Request{Call: *call, Spec: j.Spec, Access: j.Access, Options: options})
		if err == nil {
			call.State = core.Rejected
			if reply.Decision.Allows() {
				call.State, call.Start, call.Why = core.Running, c.b.o.Time(), reply.Why
			}
			return reply, nil
		}
		call.State = core.Canceled
		if ctx.Err() != nil || !errors.Is(err, core.ErrOver) || !c.stage.Emit() { // the agent has taken it back, or the turn was stopped
			return reply, err
		}
		again := *call
		again.ID, again.State = c.stage.Current().NewCall(), core.Proposed
		if !c.stage.Emit(core.CallChanged{Call: again}) {
			return reply, err
		}
		*call = again
	}
	return reply, err
}

// optionOf returns the id of the first option that means a decision and changes nothing more; "": there is
// none. An id that several options have means nothing.
func optionOf(options []core.Option, d core.Decision) string {
	for _, o := range options {
		if _, ok := (core.Ask{Options: options}).Option(o.ID); ok && o.Decision == d && !o.Changes {
			return o.ID
		}
	}
	return ""
}

// optionFor returns the answer to the agent: the option that a person has chosen, or that of the
// decision. Options that last are chosen only by people. One of an unknown kind is never the answer: it
// was shown as one that allows nothing, and may mean something else to the agent.
func optionFor(options []core.Option, r core.Reply) permit {
	id := r.Option
	if o, ok := (core.Ask{Options: options}).Option(id); ok && o.Decision == "" {
		id = ""
	}
	switch {
	case id != "":
	case r.Decision.Allows():
		id = optionOf(options, core.AllowOnce)
	default:
		if id = optionOf(options, core.RejectOnce); id == "" {
			id = optionOf(options, core.RejectAlways)
		}
	}
	if id == "" {
		return cancelled()
	}
	return selected(id)
}

// granted finds a permission that covers an access: one for exactly this path or command line,
// whose call has not ended.
func (c *conversation) granted(a core.Access) (core.CallID, bool) {
	now := c.stage.Current()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.grants {
		if g.turn == now && slices.ContainsFunc(g.access, func(has core.Access) bool { return includes(has, a) }) {
			return g.call, true
		}
	}
	return "", false
}

// includes reports whether a permitted access includes another one. Who may change a file may read it;
// in the workspace, nobody is asked about that anyway, and a rule may forbid it.
func includes(has, a core.Access) bool {
	if has.Sandbox == "" {
		a.Sandbox = "" // what may run as the user may run in a sandbox
	}
	if a.Op == core.OpRun || a.Path == "" {
		return has == a && a.Command != ""
	}
	return has.Path == a.Path && (has.Op == a.Op || has.Op == core.OpWrite && a.Outside)
}

// revoke ends a permission: its call has ended.
func (c *conversation) revoke(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.grants, id)
}
