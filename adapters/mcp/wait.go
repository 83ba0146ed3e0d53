package mcp

import (
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
	"dragoman/core/cursor"
	"dragoman/core/forms"
)

type waitArgs struct {
	Session core.SessionID `json:"session_id"`
	Turn    core.TurnID    `json:"turn_id"`
	After   string         `json:"after"`
	Wait    *int           `json:"wait_seconds"`
}

// wait is the tool agent_wait: it follows a turn that was begun before. Cancelling the call does
// not affect the turn.
func (c *client) wait(ctx context.Context, by *call, req *mcp.CallToolRequest, in waitArgs) (*mcp.CallToolResult, any, error) {
	by.Place.Leave() // the prompts and cancels before it are finished
	back, err := c.unseal(req.Params)
	if err != nil {
		return nil, nil, err
	}
	after, err := cursor.Parse(in.After)
	if err != nil {
		return refusal("after: %v.", err), nil, nil
	}
	h, err := c.open(ctx, req, in.Session)
	if err != nil {
		return failed(in.Session, err)
	}
	turn := in.Turn
	seen, _ := h.dismissals()
	if back != nil {
		c.resume(h, back, req.Params.InputResponses)
		turn = back.Turn
	}
	from := h.from(turn)
	if turn == "" {
		if turn, from, err = h.newest(ctx); err != nil {
			return failed(h.id, err)
		}
	}
	f := c.follower(by, req, h, turn, in.Wait)
	f.again, f.events, f.seen = true, &events{after: after}, seen
	if back != nil {
		f.rounds = back.Rounds
		f.progress.n += back.Progress
	}
	return f.run(ctx, from)
}

type cancelArgs struct {
	Session core.SessionID `json:"session_id"`
	Turn    core.TurnID    `json:"turn_id"`
}

type cancelResult struct {
	Session   core.SessionID `json:"session_id"`
	Cancelled bool           `json:"cancelled"`
}

// cancel is the tool agent_cancel. It does not wait for the turn's end.
func (c *client) cancel(ctx context.Context, _ *call, req *mcp.CallToolRequest, in cancelArgs) (*mcp.CallToolResult, any, error) {
	h, err := c.open(ctx, req, in.Session)
	if err != nil {
		return failed(in.Session, err)
	}
	if !c.mayStop(h) {
		return refusal(notItsSession, "stop a turn in it"), nil, nil
	}
	st := h.a.State()
	out := cancelResult{Session: h.id}
	for _, running := range append(st.Queued, st.Turn) {
		if running != "" && (in.Turn == "" || in.Turn == running) {
			out.Cancelled = true
		}
	}
	if out.Cancelled && st.Turn != "" && (in.Turn == "" || in.Turn == st.Turn) {
		h.stop(st.Turn) // a later prompt waits for its end
	}
	if err := h.a.Cancel(context.WithoutCancel(ctx), in.Turn, core.ErrCanceled); err != nil {
		return failed(h.id, err)
	}
	text := "Nothing was running."
	switch {
	case out.Cancelled:
		text = "The turn is being stopped."
	case st.Missing != "":
		text += " " + st.Missing
	}
	return said(text), out, nil
}

type approveArgs struct {
	Session  core.SessionID `json:"session_id"`
	Approval core.AskID     `json:"approval_id"`
	Decision string         `json:"decision"`
	Option   string         `json:"option_id"`
	Answer   string         `json:"answer"`
	Note     string         `json:"note"`
}

type approveResult struct {
	Session  core.SessionID `json:"session_id"`
	Approval core.AskID     `json:"approval_id"`
	Decision string         `json:"decision,omitempty"`
	Option   string         `json:"option_id,omitempty"`
	Answer   string         `json:"answer,omitempty"`
	Next     string         `json:"next"` // the tool to call
}

// The values of decision in agent_approve.
const (
	decisionOnce         = "allow_once"
	decisionAlways       = "allow_always"
	decisionReject       = "reject_once"
	decisionRejectAlways = "reject_always"
)

func decisionOf(name string) core.Decision {
	switch name {
	case decisionOnce:
		return core.AllowOnce
	case decisionAlways:
		return core.AllowSession
	case decisionRejectAlways:
		return core.RejectAlways
	}
	return core.RejectOnce
}

// nameOf returns the name of a decision.
func nameOf(d core.Decision) string {
	for _, name := range []string{decisionOnce, decisionAlways, decisionRejectAlways} {
		if decisionOf(name) == d {
			return name
		}
	}
	return decisionReject
}

// approve is the tool agent_approve: the user's decision, passed on by the calling model.
func (c *client) approve(ctx context.Context, _ *call, req *mcp.CallToolRequest, in approveArgs) (*mcp.CallToolResult, any, error) {
	h, err := c.open(ctx, req, in.Session)
	if err != nil {
		return failed(in.Session, err)
	}
	if !h.mine() {
		return refusal(notItsSession, "answer in it"), nil, nil
	}
	pending := h.a.Pending()
	i := slices.IndexFunc(pending, func(a core.Ask) bool { return a.ID == in.Approval })
	if i < 0 {
		return failed(h.id, core.ErrNotAsked)
	}
	a := pending[i]
	rejects := in.Answer == "" && in.Option == "" && (in.Decision == decisionReject || in.Decision == decisionRejectAlways)
	if a.Kind == core.AskApproval && in.Option != "" {
		return c.chosen(ctx, h, askerOf(req), a, in)
	}
	if s := c.answererOf(h, askerOf(req), a); s != ofModel && !rejects {
		return refusal("agent_approve can only reject this: %s.", s.note()), nil, nil
	}
	if a.Kind != core.AskApproval {
		return c.answered(ctx, h, a, in)
	}
	if !a.Fits() && !rejects {
		return refusal("The agent has answers of its own: give option_id, one of %s, or the decision reject_once.", optionIDs(a)), nil, nil
	}
	if in.Decision == "" {
		return refusal("Say what the user decided: decision. An answer is for a pending question."), nil, nil
	}
	if err := h.a.Decide(ctx, in.Approval, decisionOf(in.Decision), in.Note); err != nil {
		return failed(h.id, err)
	}
	return said("The decision was passed on. Call agent_wait for the turn's result."), approveResult{Session: h.id, Approval: in.Approval, Decision: in.Decision, Next: toolWait}, nil
}

// chosen handles agent_approve with an answer from the agent's own list. A model may pass on what
// rejects, and what allows this call alone.
func (c *client) chosen(ctx context.Context, h *heldSession, by asker, a core.Ask, in approveArgs) (*mcp.CallToolResult, any, error) {
	o, ok := a.Option(in.Option)
	rejects := o.Decision == core.RejectOnce || o.Decision == core.RejectAlways
	switch s := c.answererOf(h, by, a); {
	case in.Decision != "" || in.Answer != "":
		return refusal("Give option_id alone, without decision and answer."), nil, nil
	case !ok:
		return refusal("There is no option_id %q; there are %s.", in.Option, optionIDs(a)), nil, nil
	case s != ofModel && !rejects:
		return refusal("agent_approve can only reject this: %s.", s.note()), nil, nil
	case !rejects && o.Decision != core.AllowOnce:
		return refusal("agent_approve cannot choose %q: only a person may, who is asked in an editor.", o.Label), nil, nil
	}
	if err := h.a.Answer(ctx, a.ID, core.Reply{Outcome: core.OutcomeDecided, Option: o.ID, Text: in.Note}); err != nil {
		return failed(h.id, err)
	}
	return said("The decision was passed on. Call agent_wait for the turn's result."), approveResult{Session: h.id, Approval: a.ID, Option: o.ID, Next: toolWait}, nil
}

// optionIDs lists the choices of an agent's own list that agent_approve takes.
func optionIDs(a core.Ask) string {
	list, _ := choicesOf(a)
	return names(list, func(o choice) string { return fmt.Sprintf("%q (%s)", o.ID, o.Label) })
}

// answered handles agent_approve for a question.
func (c *client) answered(
	ctx context.Context,
	h *heldSession,
	a core.Ask,
	in approveArgs,
) (*mcp.CallToolResult, any, error) {
	r, ok := core.Reply{Outcome: core.OutcomeDeclined}, in.Decision == decisionReject || in.Decision == decisionRejectAlways
	if in.Answer != "" {
		r, ok = forms.Of(a).ReplyInWords(in.Answer)
	}
	if !ok || a.Secret {
		return refusal("This is a question: give what the user said as answer (%s), or the decision reject_once.", pendingOf(a).answers()), nil, nil
	}
	if err := h.a.Answer(ctx, a.ID, r); err != nil {
		return failed(h.id, err)
	}
	return said("The answer was passed on. Call agent_wait for the turn's result."), approveResult{Session: h.id, Approval: a.ID, Decision: in.Decision, Answer: in.Answer, Next: toolWait}, nil
}

// said returns a text as a result.
func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
