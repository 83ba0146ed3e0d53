//nolint:staticcheck // sampling is deprecated from 2026-07-28 on, and clients have it
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
	"dragoman/core/inference"
)

// sessionKey identifies a session: clients of other principals may have one of the same id.
type sessionKey struct {
	principal core.Principal
	id        core.SessionID
}

// modelLoan is the model that a client lends to one turn that it has prompted (Client, Sampling).
// The turn's requests to the model wait here until a call of the client follows the turn and
// sends them.
type modelLoan struct {
	h     *heldSession
	tools bool          // the model takes tools
	ready chan struct{} // closed when turn is set
	turn  core.TurnID   // "": the prompt began no turn

	mu   sync.Mutex // guards the fields below
	last int
	open []*sample
	news chan struct{} // closed when open has changed
	gone bool          // the client has left
}

// sample is one request of a turn to its client's model.
type sample struct {
	id     core.AskID // in the same form as a question's, with which it is sent
	params *mcp.CreateMessageWithToolsParams
	answer chan sampleAnswer // holds the one answer
	over   chan struct{}     // closed when the answer is no longer wanted
}

// settled blocks until the answer is no longer wanted, or ctx ends.
func (m *sample) settled(ctx context.Context) {
	select {
	case <-m.over:
	case <-ctx.Done():
	}
}

type sampleAnswer struct {
	res *mcp.CreateMessageWithToolsResult
	err error
}

// lendsOf derives from a request the way in which its client's model can be asked.
func lendsOf(req clientRequest) asker {
	caps := req.ClientCapabilities()
	switch {
	case caps == nil || caps.Sampling == nil:
		return asksNobody
	case req.ProtocolVersion() >= proto.Modern:
		return asksAgain
	}
	return asksNow
}

// lend records, before a client's prompt is passed on, that its model answers in the resulting
// turn; nil: it offers none. settled sets the turn.
func (c *client) lend(req clientRequest, h *heldSession) *modelLoan {
	if lendsOf(req) == asksNobody {
		return nil
	}
	tools := req.ClientCapabilities().Sampling.Tools != nil && req.ProtocolVersion() >= proto.Titles
	l := &modelLoan{h: h, tools: tools, ready: make(chan struct{}), news: make(chan struct{})}
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent[h.owned()] = append(s.lent[h.owned()], l)
	return l
}

// settled sets the turn that a prompt began, or none. Loans to ended turns are removed from
// the list.
func (s *Server) settled(l *modelLoan, turn core.TurnID) {
	if l == nil {
		return
	}
	l.turn = turn
	close(l.ready)
	runs := l.h.a.State().Turn
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lentLocked(l.h.owned(), func(o *modelLoan) bool {
		select {
		case <-o.ready:
			return o.turn == "" || o.turn != runs
		default: // of a prompt whose turn is not set yet
			return false
		}
	})
}

// lentLocked removes ended loans from the list.
func (s *Server) lentLocked(id sessionKey, over func(*modelLoan) bool) {
	if s.lent[id] = slices.DeleteFunc(s.lent[id], over); len(s.lent[id]) == 0 {
		delete(s.lent, id)
	}
}

// takenBack ends the loans of a client that has left.
func (s *Server) takenBack(h *heldSession) {
	var all []*modelLoan
	s.mu.Lock()
	s.lentLocked(h.owned(), func(l *modelLoan) bool {
		if l.h == h {
			all = append(all, l)
		}
		return l.h == h
	})
	s.mu.Unlock()
	for _, l := range all {
		l.mu.Lock()
		open := l.open
		l.gone, l.open = true, nil
		l.mu.Unlock()
		for _, m := range open {
			close(m.over)
			m.answer <- sampleAnswer{err: errLeft}
		}
	}
}

// loan returns the loan of the client to a turn, or nil.
func (h *heldSession) loan(s *Server, turn core.TurnID) *modelLoan {
	s.mu.Lock()
	list := slices.Clone(s.lent[h.owned()])
	s.mu.Unlock()
	for _, l := range list {
		select {
		case <-l.ready:
			if l.h == h && l.turn == turn {
				return l
			}
		default: // of a prompt whose turn is not set yet
		}
	}
	return nil
}

// lender finds the client whose model answers in a session: the one that prompted the running
// turn, or the running turn of the session that delegated this one's task. It is nil if that
// client offers no model, or is not one of ours.
func (s *Server) lender(ctx context.Context, id sessionKey) *modelLoan {
	s.mu.Lock()
	list := slices.Clone(s.lent[id])
	s.mu.Unlock()
	for _, l := range list {
		select {
		case <-l.ready:
		case <-ctx.Done():
			return nil
		}
		if l.turn != "" && l.h.a.State().Turn == l.turn {
			return l
		}
	}
	if parent := s.parent(ctx, id); parent != "" {
		return s.lender(ctx, sessionKey{id.principal, parent})
	}
	return nil
}

// parent returns the session that delegated a session's task; "": none.
func (s *Server) parent(ctx context.Context, id sessionKey) core.SessionID {
	s.mu.Lock()
	idle := len(s.lent) == 0
	s.mu.Unlock()
	if idle {
		return ""
	}
	child, err := s.opts.Gateway.Open(ctx, id.principal, id.id)
	if err != nil {
		return ""
	}
	return child.Meta().Parent
}

func (h *heldSession) owned() sessionKey { return sessionKey{h.meta.Principal, h.id} }

// Offers reports whether the client that prompted a session's turn lends its model, and whether
// the model takes tools.
func (s *Server) Offers(ctx context.Context, p core.Principal, session core.SessionID) (sampling, tools bool) {
	l := s.lender(ctx, sessionKey{p, session})
	return l != nil, l != nil && l.tools
}

// CreateMessage asks the model of the client that prompted a session's turn, with the parameters
// of sampling/createMessage according to 2025-11-25, and returns its result. It blocks until the
// client has answered, which requires a call of the client that follows the turn. An error that
// the client causes is a *inference.Error.
func (s *Server) CreateMessage(
	ctx context.Context, p core.Principal, session core.SessionID, params json.RawMessage,
) (json.RawMessage, error) {
	l := s.lender(ctx, sessionKey{p, session})
	if l == nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, errLeft
	}
	asked := new(mcp.CreateMessageWithToolsParams)
	if err := json.Unmarshal(params, asked); err != nil {
		return nil, fmt.Errorf("sampling/createMessage: %w", err)
	}
	res, err := l.ask(ctx, asked, s.asking())
	if err != nil {
		return nil, err
	}
	return json.Marshal(res)
}

// ask queues a request and waits for the answer.
func (l *modelLoan) ask(
	ctx context.Context,
	params *mcp.CreateMessageWithToolsParams,
	limit time.Duration,
) (*mcp.CreateMessageWithToolsResult, error) {
	l.mu.Lock()
	if l.gone {
		l.mu.Unlock()
		return nil, errLeft
	}
	l.last++
	m := &sample{
		id: core.AskID("sample-" + strconv.Itoa(l.last)), params: params,
		answer: make(chan sampleAnswer, 1), over: make(chan struct{}),
	}
	l.open = append(l.open, m)
	l.changedLocked()
	l.mu.Unlock()
	limited, stop := context.WithTimeoutCause(ctx, limit, &inference.Error{
		Kind: inference.ErrServer, Message: "the MCP client's model has not answered within " + limit.String(),
		Hint: "The client has to wait for the turn, with agent_wait, so that its model can be asked",
	})
	defer stop()
	select {
	case a := <-m.answer:
		return a.res, a.err
	case <-limited.Done():
		l.settle(m.id, sampleAnswer{})
		return nil, context.Cause(limited)
	}
}

// settle accepts an answer; it ignores one to a request that has ended.
func (l *modelLoan) settle(id core.AskID, a sampleAnswer) {
	l.mu.Lock()
	i := slices.IndexFunc(l.open, func(m *sample) bool { return m.id == id })
	var m *sample
	if i >= 0 {
		m = l.open[i]
		l.open = slices.Delete(slices.Clone(l.open), i, i+1)
		l.changedLocked()
	}
	l.mu.Unlock()
	if m != nil {
		close(m.over)
		m.answer <- a
	}
}

// changedLocked wakes the calls that follow the turn.
func (l *modelLoan) changedLocked() {
	close(l.news)
	l.news = make(chan struct{})
}

// waiting returns the open requests; the channel is closed when they change.
func (l *modelLoan) waiting() ([]*sample, <-chan struct{}) {
	if l == nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.news
}

// sample asks the client's model by a request. The SDK withdraws a request that is no longer
// wanted.
func (l *modelLoan) sample(ctx context.Context, req *mcp.CallToolRequest, m *sample) (dismissed bool) {
	res, err := req.Session.CreateMessageWithTools(ctx, m.params)
	if ctx.Err() != nil { // withdrawn, or the call was cancelled: the next call that follows the turn asks again
		return false
	}
	if err != nil {
		err = refused(err)
	}
	l.settle(m.id, sampleAnswer{res, err})
	return false
}

// sampledAgain accepts the answers that a client of 2026-07-28 has brought back.
func (l *modelLoan) sampledAgain(answers mcp.InputResponseMap) {
	open, _ := l.waiting()
	for _, m := range open {
		answer, ok := answers[string(m.id)]
		if !ok {
			continue
		}
		if r, ok := answer.(*mcp.CreateMessageWithToolsResult); ok && r != nil {
			l.settle(m.id, sampleAnswer{res: r})
			continue
		}
		l.settle(m.id, sampleAnswer{err: &inference.Error{
			Kind:    inference.ErrServer,
			Message: "the MCP client answered sampling/createMessage with something else",
		}})
	}
}

// errLeft is the answer for a model whose client has left.
var errLeft = &inference.Error{
	Kind: inference.ErrNetwork, Message: "the MCP client that prompted has left, or lends no model",
	Hint: "Choose another model, or prompt again from a client that offers sampling",
}

// refused interprets a client's error. If its user may have refused, no other model is asked.
func refused(err error) error {
	e := &inference.Error{
		Kind:    inference.ErrBadRequest,
		Message: "the MCP client did not let its model answer: " + line(err.Error(), maxSummary),
		Hint:    "Its user may have refused; another model can be chosen", Err: err,
	}
	if answer, ok := errors.AsType[*jsonrpc.Error](err); ok && answer.Code == jsonrpc.CodeMethodNotFound {
		e.Kind, e.Hint = inference.ErrServer, "It declares sampling and does not have it; choose another model"
	} else if hungUp(err) {
		return errLeft
	}
	return e
}
