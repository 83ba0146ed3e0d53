package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"dragoman/adapters/clients"
	"dragoman/adapters/mcp/loan"
	"dragoman/adapters/mcp/schema"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/forms"
)

// asker is the way in which a client's user can be asked.
type asker uint8

const (
	asksNobody asker = iota // only through the calling model, which has agent_approve
	asksNow                 // elicitation/create (2025-06-18 and 2025-11-25, Client, Elicitation)
	asksAgain               // a result that the client answers by calling again (2026-07-28, Multi round-trip requests)
)

// askerOf derives the way from a request's version and the client's capabilities.
func askerOf(req clientRequest) asker {
	version, caps := req.ProtocolVersion(), req.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil || version < proto.Forms {
		return asksNobody
	}
	if e := caps.Elicitation; e.Form == nil && e.URL != nil { // neither: forms, as in versions without the distinction
		return asksNobody
	}
	if version >= proto.Modern {
		return asksAgain
	}
	return asksNow
}

var (
	errWithdrawn = errors.New("settled elsewhere")
	errUnasked   = errors.New("there was no answer in time")
)

// dialog is an ask, or a request to the client's model, that we send to the client as a request.
type dialog struct {
	id core.AskID
	// put sends the request and takes the answer; dismissed: the user gave none.
	put func(context.Context) (dismissed bool)
	// over blocks until the answer is no longer wanted, or its context has ended.
	over func(context.Context)
}

// requests lists the dialogs for the pending asks and samples that are sent as requests.
func (f *follower) requests(asks []core.Ask, samples []*loan.Request) (list []dialog) {
	if f.asker == asksNow {
		for _, a := range f.askable(asks) {
			call := f.turn.callOf(a)
			list = append(list, dialog{a.ID, func(ctx context.Context) bool { return f.c.elicit(ctx, f.req, f.h, a, call) }, func(ctx context.Context) { f.h.settled(ctx, a.ID) }})
		}
	}
	if f.lends == asksNow {
		for _, m := range samples {
			list = append(list, dialog{m.ID, func(ctx context.Context) bool { f.lent.Ask(ctx, f.req.Session, m); return false }, m.Settled})
		}
	}
	return list
}

// ask opens the dialogs that are not open yet. They stay open when the call is answered, so that
// a slow user is not asked twice. A dialog whose answer is no longer wanted is withdrawn.
func (f *follower) ask(ctx context.Context, asks []core.Ask, samples []*loan.Request) {
	for _, a := range f.requests(asks, samples) {
		asking, end := context.WithCancelCause(context.WithoutCancel(ctx))
		if !f.h.claim(a.id, end) {
			end(nil)
			continue
		}
		f.open = append(f.open, a.id)
		f.c.dialogs.Go(func() {
			var wanted sync.WaitGroup
			wanted.Go(func() {
				a.over(asking)
				end(errWithdrawn)
			})
			if a.put(asking) {
				f.h.dismiss(a.id)
			} else {
				f.h.unclaim(a.id)
			}
			end(nil)
			wanted.Wait()
		})
	}
}

// takeBack ends the dialogs that the call has opened, after the client has cancelled the call.
func (f *follower) takeBack() {
	for _, id := range f.open {
		f.h.mu.Lock()
		end := f.h.asking[id]
		f.h.mu.Unlock()
		if end != nil {
			end(errWithdrawn)
		}
	}
}

// claim prevents two calls on one turn from asking the same question.
func (h *heldSession) claim(id core.AskID, end context.CancelCauseFunc) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asking == nil || h.asking[id] != nil {
		return false
	}
	h.asking[id] = end
	return true
}

func (h *heldSession) unclaim(id core.AskID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.asking, id)
}

// settled blocks until an ask is settled, or ctx ends.
func (h *heldSession) settled(ctx context.Context, id core.AskID) {
	r := h.a.Read(h.a.Head())
	defer r.Close()
	for slices.ContainsFunc(h.a.Pending(), func(a core.Ask) bool { return a.ID == id }) {
		if _, err := r.Next(ctx); err != nil {
			return
		}
	}
}

// dismiss records that a dialog was closed without an answer, and wakes the calls that follow the
// turn.
func (h *heldSession) dismiss(id core.AskID) {
	waits := map[core.AskID]bool{}
	for _, a := range h.a.Pending() {
		waits[a.ID] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.dismissed, func(id core.AskID, _ int) bool { return !waits[id] })
	h.dismissed[id]++
	delete(h.asking, id)
	close(h.closed)
	h.closed = make(chan struct{})
}

// dismissals returns the number of times that the dialog of each ask was closed without an
// answer. The channel is closed at the next dismissal.
func (h *heldSession) dismissals() (map[core.AskID]int, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.dismissed), h.closed
}

// isOpen reports whether the client's user is being asked: a dialog is open, or the client is
// expected to call again with an answer.
func (h *heldSession) isOpen(id core.AskID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asking[id] != nil || h.limits[id] != nil
}

// elicit puts one approval or question to the client's user and settles it with the answer. The
// SDK withdraws a request that is no longer wanted.
func (c *client) elicit(
	ctx context.Context,
	req *mcp.CallToolRequest,
	h *heldSession,
	a core.Ask,
	call core.Call,
) (dismissed bool) {
	limited, stop := context.WithTimeoutCause(ctx, c.server.asking(), errUnasked)
	defer stop()
	var raw mcp.ElicitResult
	res, err := req.Session.Elicit(context.WithValue(limited, rawAnswer{}, &raw), elicitation(req.ProtocolVersion(), leavesTexts(req), h.meta, a, call))
	switch {
	case ctx.Err() != nil || hungUp(err): // withdrawn, or the client has left
	case limited.Err() != nil:
		return c.expire(h, a)
	case err != nil:
		return c.unable(h, a, "the client could not ask: "+line(err.Error(), maxSummary))
	default:
		raw.Action = cmp.Or(raw.Action, res.Action)
		return c.understand(h, a, &raw)
	}
	return false
}

// hungUp reports whether a request of ours failed because the client has left. The SDK returns
// the error that ended the connection, before the context of the call ends.
func hungUp(err error) bool { return errors.Is(err, mcp.ErrConnectionClosed) || wire.PeerLeft(err) }

// understand settles an approval or a question with a user's answer (§ Elicitation, Response
// Actions). Closing a dialog decides nothing; an answer that is none of those offered is no decision.
func (c *client) understand(h *heldSession, a core.Ask, r *mcp.ElicitResult) (dismissed bool) {
	if r.Action == proto.ActionCancel { // nothing is decided: the turn waits
		return true
	}
	if a.Kind != core.AskApproval {
		c.answer(h, a, reply(a, r))
		return false
	}
	note, _ := r.Content[schema.Note].(string)
	switch r.Action {
	case proto.ActionAccept:
		d := r.Content[schema.Decision]
		if !a.Fits() {
			return c.choose(h, a, d, note)
		}
		switch d {
		case nil, "", string(core.AllowOnce):
			c.settle(h, a, core.AllowOnce, note)
		case string(core.AllowSession):
			c.settle(h, a, core.AllowSession, note)
		default:
			return c.unable(h, a, notOffered(d))
		}
	case proto.ActionDecline:
		c.settle(h, a, core.RejectOnce, note)
	default:
		return c.unable(h, a, "the client's answer is neither accept, decline nor cancel")
	}
	return false
}

// choose settles an approval with the choice from the agent's own list. Without a choice from it,
// nothing is decided.
func (c *client) choose(h *heldSession, a core.Ask, choice any, note string) (dismissed bool) {
	id, _ := choice.(string)
	if _, ok := a.Option(id); !ok {
		return c.unable(h, a, notOffered(choice))
	}
	c.answer(h, a, core.Reply{Outcome: core.OutcomeDecided, Option: id, Text: note})
	return false
}

func notOffered(answer any) string {
	if answer == nil {
		return "the answer has no choice"
	}
	return line(fmt.Sprintf("the answer %q is not one of those offered", fmt.Sprint(answer)), maxSummary)
}

// settle decides an ask, unless it is no longer open.
func (c *client) settle(h *heldSession, a core.Ask, d core.Decision, note string) {
	c.answer(h, a, core.Reply{Outcome: core.OutcomeDecided, Decision: d, Text: note})
}

// unable settles a question that the client did not put to its user. An approval is left to others, if
// others can be asked: then nothing was decided, as by a dialog that was closed.
func (c *client) unable(h *heldSession, a core.Ask, why string) (dismissed bool) {
	c.answer(h, a, core.Reply{Outcome: core.OutcomeAlone, Text: why})
	return a.Kind == core.AskApproval
}

// expire is unable for a question that was not decided in time.
func (c *client) expire(h *heldSession, a core.Ask) (dismissed bool) {
	c.answer(h, a, core.Reply{Outcome: core.OutcomeExpired, Text: errUnasked.Error()})
	return a.Kind == core.AskApproval
}

func (c *client) answer(h *heldSession, a core.Ask, r core.Reply) {
	err := h.a.Answer(context.Background(), a.ID, r)
	if err != nil && !errors.Is(err, core.ErrNotAsked) {
		c.server.log.Warn("settle what was asked", zap.String("session", string(h.id)), zap.Error(err))
	}
}

// rawAnswer is the context's key for the place where keepAnswer stores the client's answer.
type rawAnswer struct{}

// keepAnswer keeps the SDK from checking an answer against the form: an accept without content
// means the default, and understand rejects values that do not fit.
func keepAnswer(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		answer, ok := res.(*mcp.ElicitResult)
		keep, wanted := ctx.Value(rawAnswer{}).(*mcp.ElicitResult)
		if err != nil || !ok || !wanted {
			return res, err
		}
		*keep = *answer
		return &mcp.ElicitResult{Action: answer.Action}, nil
	}
}

// leavesTexts reports whether the client's user can leave a text of a form out.
func leavesTexts(req clientRequest) bool {
	info := req.ClientInfo()
	return info == nil || !clients.Of(info.Name).FillsTexts
}

// elicitation returns the form for the user. It has texts that may be left out only if texts is set.
func elicitation(version string, texts bool, m core.Meta, a core.Ask, c core.Call) *mcp.ElicitParams {
	if a.Kind != core.AskApproval {
		a.Freeform = a.Freeform && texts
		f := forms.Of(a)
		return &mcp.ElicitParams{Mode: proto.ModeForm, Message: f.Question, RequestedSchema: schema.Question(version, f)}
	}
	return &mcp.ElicitParams{Mode: proto.ModeForm, Message: question(m, a, c), RequestedSchema: schema.Approval(version, texts, a)}
}

// question names the tool, its intended action, and the place.
func question(m core.Meta, a core.Ask, c core.Call) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow the agent to use %s?", toolName(c))
	if c.Title != "" {
		fmt.Fprintf(&b, "\n%s", line(c.Title, maxSummary))
	}
	if args := display.Args(c.Args, 2000); args != "" {
		fmt.Fprintf(&b, "\nArguments: %s", args)
	}
	for _, block := range c.Content {
		if d, ok := block.(core.Diff); ok && d.Patch != "" {
			fmt.Fprintf(&b, "\n%s", display.Cut(d.Patch, 2000))
		}
	}
	fmt.Fprintf(&b, "\nDirectory: %s", m.Cwd)
	if a.Text != "" {
		fmt.Fprintf(&b, "\nWhy it asks: %s", line(a.Text, maxSummary))
	}
	return b.String()
}
