package mcp

import (
	"context"
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
	Answer   string         `json:"answer"`
	Note     string         `json:"note"`
}

type approveResult struct {
	Session  core.SessionID `json:"session_id"`
	Approval core.AskID     `json:"approval_id"`
	Decision string         `json:"decision,omitempty"`
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
	a, rejects := pending[i], in.Answer == "" && (in.Decision == decisionReject || in.Decision == decisionRejectAlways)
	if s := c.answererOf(h, askerOf(req), a); s != ofModel && !rejects {
		return refusal("agent_approve can only reject this: %s.", s.note()), nil, nil
	}
	if a.Kind != core.AskApproval {
		return c.answered(ctx, h, a, in)
	}
	if in.Decision == "" {
		return refusal("Say what the user decided: decision. An answer is for a pending question."), nil, nil
	}
	if err := h.a.Decide(ctx, in.Approval, decisionOf(in.Decision), in.Note); err != nil {
		return failed(h.id, err)
	}
	return said("The decision was passed on. Call agent_wait for the turn's result."), approveResult{h.id, in.Approval, in.Decision, "", toolWait}, nil
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
	return said("The answer was passed on. Call agent_wait for the turn's result."), approveResult{h.id, a.ID, in.Decision, in.Answer, toolWait}, nil
}

// said returns a text as a result.
func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
