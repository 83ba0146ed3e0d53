package mcp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
)

// client is one connection.
type client struct {
	server *Server
	link   *link
	timers sync.WaitGroup // clocks that may still reject something

	mu   sync.Mutex // guards the field below
	held map[core.SessionID]*held
}

// held is a session that the client has named, with the client's attachment, which lives as long as the connection or
// until session_close.
type held struct {
	id   core.SessionID
	meta core.Meta
	a    *core.Attachment

	mu       sync.Mutex // guards the fields below
	begun    []begun    // the newest keepBegun turns that this client began
	stopping core.TurnID
	asking   map[core.AskID]bool   // what is being put to the client's user now
	limits   map[core.AskID]func() // stops the clock of what the client may come back with
	folds    []*turn               // at most keepFolds, which nobody follows now; the one used last is the last
	seen     begun                 // the newest turn that newest has found
}

// begun is a turn that this client began, and where in the log.
type begun struct {
	turn core.TurnID
	from core.Pos
	call *call
}

// keepBegun is how many turns a held session remembers the beginnings of; of others the log is read from the start.
const keepBegun = 64

// keepFolds is how many turns a held session remembers the folds of, so that a caller who polls does not make us read a
// turn from its beginning each time.
const keepFolds = 4

// borrow takes the fold of a turn as it was left, or an empty one. It is the caller's until giveBack.
func (h *held) borrow(id core.TurnID) *turn {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.folds, func(t *turn) bool { return t.id == id }); i >= 0 {
		t := h.folds[i]
		h.folds = slices.Delete(h.folds, i, i+1)
		return t
	}
	return &turn{id: id}
}

// giveBack keeps a fold for the next caller. Of two of one turn the one that goes further stays.
func (h *held) giveBack(t *turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.folds, func(o *turn) bool { return o.id == t.id }); i >= 0 {
		if t.at.Before(h.folds[i].at) {
			t = h.folds[i]
		}
		h.folds = slices.Delete(h.folds, i, i+1)
	}
	if len(h.folds) == keepFolds {
		h.folds = slices.Delete(h.folds, 0, 1)
	}
	h.folds = append(h.folds, t)
}

// open finds a session, attaching to it the first time. It may block on the store.
func (c *client) open(ctx context.Context, req *mcp.CallToolRequest, id core.SessionID) (*held, error) {
	c.mu.Lock()
	h := c.held[id]
	c.mu.Unlock()
	if h != nil {
		return h, nil
	}
	s, err := c.server.opts.Gateway.Open(ctx, core.Local, id)
	if err != nil {
		return nil, err
	}
	return c.hold(req, s), nil
}

// hold attaches to a session. Of two calls that do so at once one attachment stays.
func (c *client) hold(req *mcp.CallToolRequest, s *core.Session) *held {
	h := &held{
		id: s.Meta().ID, meta: s.Meta(), a: s.Attach(core.Client{Name: clientName(req), Principal: core.Local, Asks: true}),
		asking: map[core.AskID]bool{}, limits: map[core.AskID]func(){},
	}
	c.mu.Lock()
	other := c.held[h.id]
	if other == nil {
		c.held[h.id] = h
	}
	c.mu.Unlock()
	if other != nil {
		h.a.Close()
		return other
	}
	return h
}

// again opens a session that has closed under the client, for example because its store failed.
func (c *client) again(ctx context.Context, req *mcp.CallToolRequest, h *held) (*held, error) {
	c.drop(h)
	return c.open(ctx, req, h.id)
}

// drop gives a session up.
func (c *client) drop(h *held) {
	c.mu.Lock()
	if c.held[h.id] == h {
		delete(c.held, h.id)
	}
	c.mu.Unlock()
	h.close()
}

// close gives everything back. No tool runs any more.
func (c *client) close() {
	c.mu.Lock()
	all := c.held
	c.held = nil
	c.mu.Unlock()
	for _, h := range all {
		h.close()
	}
	c.timers.Wait()
}

func (h *held) close() {
	h.mu.Lock()
	stops := h.limits
	h.limits = map[core.AskID]func(){}
	h.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	h.a.Close()
}

// clientName is who the client says it is.
func clientName(req *mcp.CallToolRequest) string {
	info := req.ClientInfo()
	if info == nil || cmp.Or(info.Title, info.Name) == "" {
		return "an MCP client"
	}
	return line(cmp.Or(info.Title, info.Name)+" "+info.Version, 100)
}

// began notes a turn of this client's.
func (h *held) began(b begun) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.begun) == keepBegun {
		h.begun = append(h.begun[:0], h.begun[1:]...)
	}
	h.begun = append(h.begun, b)
}

// from is a position before the beginning of a turn.
func (h *held) from(turn core.TurnID) core.Pos {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.begun {
		if b.turn == turn {
			return b.from
		}
	}
	return core.Pos{}
}

// newest finds the turn that began last, and where. It looks behind the last one
// that this connection began or has found; at the whole log only the first time,
// and where a truncation hides that.
func (h *held) newest(ctx context.Context) (turn core.TurnID, from core.Pos, err error) {
	h.mu.Lock()
	last := h.seen.from
	if n := len(h.begun); n > 0 && last.Before(h.begun[n-1].from) {
		last = h.begun[n-1].from
	}
	h.mu.Unlock()
	turn, from, err = h.newestBehind(ctx, last)
	if turn == "" && err == nil && last != (core.Pos{}) {
		turn, from, err = h.newestBehind(ctx, core.Pos{})
	}
	if turn == "" && err == nil {
		err = errNoTurn
	}
	if err == nil {
		h.mu.Lock()
		h.seen = begun{turn: turn, from: from}
		h.mu.Unlock()
	}
	return turn, from, err
}

func (h *held) newestBehind(ctx context.Context, after core.Pos) (turn core.TurnID, from core.Pos, err error) {
	head := h.a.Head()
	r := h.a.Read(after)
	defer r.Close()
	for r.Pos().Before(head) {
		recs, err := r.Until(ctx, head)
		if err != nil {
			return "", from, err
		}
		for _, rec := range recs {
			if e, ok := rec.Event.(core.TurnStarted); ok {
				turn, from = e.Turn, core.Pos{Epoch: rec.Epoch, Seq: rec.Seq}
			}
		}
	}
	return turn, from, nil
}

// stop notes that a turn was cancelled over this connection.
func (h *held) stop(turn core.TurnID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = turn
}

// ending reports whether a turn was cancelled over this connection.
func (h *held) ending(turn core.TurnID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.begun {
		if b.turn == turn && b.call.canceled() {
			return true
		}
	}
	return h.stopping == turn
}

// gone waits until a turn no longer runs.
func (h *held) gone(ctx context.Context, turn core.TurnID) error {
	r := h.a.Read(h.a.Head())
	defer r.Close()
	for h.a.State().Turn == turn {
		if _, err := r.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// admit begins a turn, which the call's own context can cancel. A prompt behind a cancel waits for the turn that was
// cancelled; one for a session that is busy otherwise fails with a *core.BusyError.
func (h *held) admit(ctx context.Context, by *call, p core.Prompt) (core.TurnID, core.Pos, error) {
	p.Busy = core.BusyRefuse
	for {
		from := h.a.Head()
		turn, err := h.a.Prompt(by.ctx, p)
		if busy, ok := errors.AsType[*core.BusyError](err); ok && h.ending(busy.Turn) {
			if err := h.gone(ctx, busy.Turn); err != nil {
				return "", from, err
			}
			continue
		}
		if turn != "" {
			h.began(begun{turn, from, by})
		}
		return turn, from, err
	}
}
