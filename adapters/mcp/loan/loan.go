// Package loan lends the model of an MCP client to the turns that the client has prompted (Client,
// Sampling).
//
//nolint:staticcheck // sampling is deprecated from 2026-07-28 on, and clients have it
package loan

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

	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// sessionKey identifies a session: clients of other principals may have one of the same id.
type sessionKey struct {
	principal core.Principal
	id        core.SessionID
}

func keyOf(a *core.Attachment) sessionKey { return sessionKey{a.Meta().Principal, a.Meta().ID} }

// Ledger has the loans of a gateway's sessions. It is safe for concurrent use.
type Ledger struct {
	gateway *core.Gateway
	limit   func() time.Duration

	mu   sync.Mutex // guards the field below
	lent map[sessionKey][]*Loan
}

// New returns an empty ledger. limit is the time that a client has for an answer.
func New(g *core.Gateway, limit func() time.Duration) *Ledger {
	return &Ledger{gateway: g, limit: limit, lent: map[sessionKey][]*Loan{}}
}

// Loan is the model that a client lends to one turn. The turn's requests to the model wait here
// until a call of the client follows the turn and sends them. A nil Loan has no requests.
type Loan struct {
	ledger *Ledger
	by     *core.Attachment // the client's
	tools  bool             // the model takes tools
	ready  chan struct{}    // closed when turn is set
	turn   core.TurnID      // "": the prompt began no turn

	mu   sync.Mutex // guards the fields below
	last int
	open []*Request
	news chan struct{} // closed when open has changed
	gone bool          // the client has left
}

// Request is one request of a turn to its client's model.
type Request struct {
	ID     core.AskID // in the same form as a question's, with which it is sent
	Params *mcp.CreateMessageWithToolsParams

	answer chan answer   // holds the one answer
	over   chan struct{} // closed when the answer is no longer wanted
}

type answer struct {
	res *mcp.CreateMessageWithToolsResult
	err error
}

// Settled blocks until the answer is no longer wanted, or ctx ends.
func (r *Request) Settled(ctx context.Context) {
	select {
	case <-r.over:
	case <-ctx.Done():
	}
}

// Lend records, before a client's prompt is passed on, that its model answers in the resulting
// turn. Begin sets the turn.
func (l *Ledger) Lend(by *core.Attachment, tools bool) *Loan {
	n := &Loan{ledger: l, by: by, tools: tools, ready: make(chan struct{}), news: make(chan struct{})}
	key := keyOf(by)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lent[key] = append(l.lent[key], n)
	return n
}

// Begin sets the turn that a prompt has begun; "": none. Loans to ended turns are removed from the
// ledger.
func (n *Loan) Begin(turn core.TurnID) {
	if n == nil {
		return
	}
	n.turn = turn
	close(n.ready)
	runs := n.by.State().Turn
	n.ledger.mu.Lock()
	defer n.ledger.mu.Unlock()
	n.ledger.removeLocked(keyOf(n.by), func(o *Loan) bool { return o.begun() && (o.turn == "" || o.turn != runs) })
}

// begun reports whether the turn is set.
func (n *Loan) begun() bool {
	select {
	case <-n.ready:
		return true
	default:
		return false
	}
}

func (l *Ledger) removeLocked(key sessionKey, over func(*Loan) bool) {
	if l.lent[key] = slices.DeleteFunc(l.lent[key], over); len(l.lent[key]) == 0 {
		delete(l.lent, key)
	}
}

// TakeBack ends the loans of a client that has left a session.
func (l *Ledger) TakeBack(by *core.Attachment) {
	var all []*Loan
	l.mu.Lock()
	l.removeLocked(keyOf(by), func(n *Loan) bool {
		if n.by == by {
			all = append(all, n)
		}
		return n.by == by
	})
	l.mu.Unlock()
	for _, n := range all {
		n.mu.Lock()
		open := n.open
		n.gone, n.open = true, nil
		n.mu.Unlock()
		for _, r := range open {
			close(r.over)
			r.answer <- answer{err: errLeft}
		}
	}
}

// list returns the loans to a session.
func (l *Ledger) list(key sessionKey) []*Loan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lent[key])
}

// To returns the loan of a client to a turn, or nil.
func (l *Ledger) To(by *core.Attachment, turn core.TurnID) *Loan {
	for _, n := range l.list(keyOf(by)) {
		if n.begun() && n.by == by && n.turn == turn {
			return n
		}
	}
	return nil
}

// lender finds the loan of the client whose model answers in a session: the one that prompted the
// running turn, or the running turn of the session that delegated this one's task. It is nil if
// that client offers no model, or is not an MCP client.
func (l *Ledger) lender(ctx context.Context, key sessionKey) *Loan {
	for _, n := range l.list(key) {
		select {
		case <-n.ready:
		case <-ctx.Done():
			return nil
		}
		if n.turn != "" && n.by.State().Turn == n.turn {
			return n
		}
	}
	if parent := l.parent(ctx, key); parent != "" {
		return l.lender(ctx, sessionKey{key.principal, parent})
	}
	return nil
}

// parent returns the session that delegated a session's task; "": none.
func (l *Ledger) parent(ctx context.Context, key sessionKey) core.SessionID {
	l.mu.Lock()
	idle := len(l.lent) == 0
	l.mu.Unlock()
	if idle {
		return ""
	}
	child, err := l.gateway.Open(ctx, key.principal, key.id)
	if err != nil {
		return ""
	}
	return child.Meta().Parent
}

// Offers reports whether the client that prompted a session's turn lends its model, and whether
// the model takes tools.
func (l *Ledger) Offers(ctx context.Context, p core.Principal, session core.SessionID) (sampling, tools bool) {
	n := l.lender(ctx, sessionKey{p, session})
	return n != nil, n != nil && n.tools
}

// CreateMessage asks the model of the client that prompted a session's turn, with the parameters
// of sampling/createMessage according to 2025-11-25, and returns its result. It blocks until the
// client has answered, which requires a call of the client that follows the turn. An error that
// the client causes is a *inference.Error.
func (l *Ledger) CreateMessage(
	ctx context.Context, p core.Principal, session core.SessionID, params json.RawMessage,
) (json.RawMessage, error) {
	n := l.lender(ctx, sessionKey{p, session})
	if n == nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, errLeft
	}
	asked := new(mcp.CreateMessageWithToolsParams)
	if err := json.Unmarshal(params, asked); err != nil {
		return nil, fmt.Errorf("sampling/createMessage: %w", err)
	}
	res, err := n.ask(ctx, asked, l.limit())
	if err != nil {
		return nil, err
	}
	return json.Marshal(res)
}

// ask queues a request and waits for the answer.
func (n *Loan) ask(
	ctx context.Context,
	params *mcp.CreateMessageWithToolsParams,
	limit time.Duration,
) (*mcp.CreateMessageWithToolsResult, error) {
	n.mu.Lock()
	if n.gone {
		n.mu.Unlock()
		return nil, errLeft
	}
	n.last++
	r := &Request{
		ID: core.AskID("sample-" + strconv.Itoa(n.last)), Params: params,
		answer: make(chan answer, 1), over: make(chan struct{}),
	}
	n.open = append(n.open, r)
	n.changedLocked()
	n.mu.Unlock()
	limited, stop := context.WithTimeoutCause(ctx, limit, &inference.Error{
		Kind: inference.ErrServer, Message: "the MCP client's model has not answered within " + limit.String(),
		Hint: "The client has to wait for the turn, with agent_wait, so that its model can be asked",
	})
	defer stop()
	select {
	case a := <-r.answer:
		return a.res, a.err
	case <-limited.Done():
		n.settle(r.ID, answer{})
		return nil, context.Cause(limited)
	}
}

// settle accepts an answer; it ignores one to a request that has ended.
func (n *Loan) settle(id core.AskID, a answer) {
	n.mu.Lock()
	i := slices.IndexFunc(n.open, func(r *Request) bool { return r.ID == id })
	var r *Request
	if i >= 0 {
		r = n.open[i]
		n.open = slices.Delete(slices.Clone(n.open), i, i+1)
		n.changedLocked()
	}
	n.mu.Unlock()
	if r != nil {
		close(r.over)
		r.answer <- a
	}
}

// changedLocked wakes the calls that follow the turn.
func (n *Loan) changedLocked() {
	close(n.news)
	n.news = make(chan struct{})
}

// Waiting returns the open requests; the channel is closed when they change, and nil of a nil Loan.
func (n *Loan) Waiting() ([]*Request, <-chan struct{}) {
	if n == nil {
		return nil, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open, n.news
}

// Ask asks the client's model by a request of ours, and settles r with the answer. The SDK
// withdraws a request whose ctx ends; then r stays open, for the next call that follows the turn.
func (n *Loan) Ask(ctx context.Context, client *mcp.ServerSession, r *Request) {
	res, err := client.CreateMessageWithTools(ctx, r.Params)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		err = refused(err)
	}
	n.settle(r.ID, answer{res, err})
}

// Settle accepts the answers that a client of 2026-07-28 has brought back.
func (n *Loan) Settle(answers mcp.InputResponseMap) {
	open, _ := n.Waiting()
	for _, r := range open {
		got, ok := answers[string(r.ID)]
		if !ok {
			continue
		}
		if res, ok := got.(*mcp.CreateMessageWithToolsResult); ok && res != nil {
			n.settle(r.ID, answer{res: res})
			continue
		}
		n.settle(r.ID, answer{err: &inference.Error{
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
		Message: "the MCP client did not let its model answer: " + display.Line(err.Error(), 300),
		Hint:    "Its user may have refused; another model can be chosen", Err: err,
	}
	if answer, ok := errors.AsType[*jsonrpc.Error](err); ok && answer.Code == jsonrpc.CodeMethodNotFound {
		e.Kind, e.Hint = inference.ErrServer, "It declares sampling and does not have it; choose another model"
	} else if errors.Is(err, mcp.ErrConnectionClosed) || wire.PeerLeft(err) {
		return errLeft
	}
	return e
}
