package mcp

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp/edge"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/board"
)

// client holds the state of one sender of requests. Over a pipe and in a session over HTTP, the
// sender is the connection; at 2026-07-28 over HTTP, it is all requests that give the same name.
type client struct {
	host    *host
	server  *Server
	caller  core.Caller    // its identity for policies, whatever name it gives
	link    *edge.Link     // the pipe; nil: HTTP
	gone    chan struct{}  // closed when it has left; nil for a pipe, which the SDK watches
	timers  sync.WaitGroup // timers that may still reject something
	dialogs sync.WaitGroup // open at the client

	mu      sync.Mutex // guards the fields below
	held    map[core.SessionID]*heldSession
	level   string          // of log messages, as the client has set it; "": none wanted
	listed  bool            // it has listed resources, and is notified of changes
	watched map[string]bool // its subscriptions: the SDK's session and the resource
	calls   int             // running calls
	leaving bool            // gone is closed
	left    bool

	folders        []string // its own roots, as last reported
	foldersKnown   bool
	foldersChanged int // the number of times that it has reported a change
}

// works reports whether a call, or a turn of a session that the client holds, is running for a
// client that sends nothing.
func (c *client) works() bool {
	c.mu.Lock()
	calls, all := c.calls, slices.Collect(maps.Values(c.held))
	c.mu.Unlock()
	return calls > 0 || slices.ContainsFunc(all, func(h *heldSession) bool {
		st := h.a.State()
		return st.Turn != "" || len(st.Queued) > 0
	})
}

// clientRequest is a request that identifies its sender and the sender's capabilities.
type clientRequest interface {
	mcp.Request
	ClientInfo() *mcp.Implementation
	ClientCapabilities() *mcp.ClientCapabilities
	ProtocolVersion() string
}

// heldSession is a session that the client has named, with the client's attachment, which lives
// as long as the connection or until session_close.
type heldSession struct {
	id    core.SessionID
	meta  core.Meta
	a     *core.Attachment
	made  bool // created by this client
	board board.Reader

	mu        sync.Mutex  // guards the fields below
	used      time.Time   // the time of the last request that named it
	begun     []turnStart // the newest keepBegun turns that this client began
	stopping  core.TurnID
	asking    map[core.AskID]context.CancelCauseFunc // ends the dialog of an open question; nil: no dialogs any more
	limits    map[core.AskID]func()                  // stops the timer of a question that the client may come back with
	dismissed map[core.AskID]int                     // how often the user has closed the dialog of an open question
	closed    chan struct{}                          // closed and replaced at each dismissal
	folds     []*turn                                // at most keepFolds, not in use now; the last one was used last
	fading    *time.Timer                            // drops the folds; nil: there are none
	seen      turnStart                              // the newest turn found by newest
}

// turnStart is the start of a turn that this client began.
type turnStart struct {
	turn core.TurnID
	from core.Pos
	call *call
}

// keepBegun limits the turns of a held session whose starting positions are kept. For any other
// turn the log is read from its start.
const keepBegun = 64

// maxHeld limits the sessions that a client may hold at a time. Beyond it the one idle for longest
// is released.
const maxHeld = 256

// keepFolds limits the turns of a held session whose folds are kept, so that we need not read a
// turn from its beginning each time a caller polls. The folds are dropped when none has been used
// for foldsIdle.
const (
	keepFolds = 4
	foldsIdle = 2 * time.Minute
)

// borrow takes the kept fold of a turn, or an empty one. The caller owns it until giveBack.
func (h *heldSession) borrow(id core.TurnID) *turn {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.folds, func(t *turn) bool { return t.id == id }); i >= 0 {
		t := h.folds[i]
		h.folds = slices.Delete(h.folds, i, i+1)
		return t
	}
	return &turn{id: id}
}

// giveBack keeps a fold for the next caller. Of two folds of one turn the longer one stays.
func (h *heldSession) giveBack(t *turn) {
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
	if h.fading == nil {
		h.fading = time.AfterFunc(foldsIdle, h.fade)
	} else {
		h.fading.Reset(foldsIdle)
	}
}

// fade drops the folds, each of which holds the whole text of a turn.
func (h *heldSession) fade() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.folds = nil
}

// open finds a session, and attaches to it the first time. A session outside the client's roots
// is not found. It may block on the store.
func (c *client) open(ctx context.Context, req clientRequest, id core.SessionID) (*heldSession, error) {
	may, err := c.reach(ctx, req)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	h := c.held[id]
	c.mu.Unlock()
	if h == nil {
		s, err := c.server.opts.Gateway.Open(ctx, c.host.of.Principal, id)
		if err != nil {
			return nil, err
		}
		if m := s.Meta(); !may.Covers(m.Cwd, m.Roots) {
			return nil, core.ErrNotFound
		}
		return c.hold(req, s, false), nil
	}
	if !may.Covers(h.meta.Cwd, h.meta.Roots) {
		return nil, core.ErrNotFound
	}
	h.touch()
	err = h.a.Follow(ctx) // additions of another process
	if errors.Is(err, core.ErrClosed) {
		return c.again(ctx, req, h)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// mine reports whether the client has created or prompted the session. Only then may it answer
// questions in it, and delete it.
func (h *heldSession) mine() bool { return h.made || h.a.Prompted() }

// mayStop reports whether the client may stop the turns of a session: any, with the right to act, or else
// those of a session that is its own.
func (c *client) mayStop(h *heldSession) bool { return c.host.of.Rights.Has(access.Act) || h.mine() }

// hold attaches to a session. Of two concurrent calls, one attachment stays.
func (c *client) hold(req clientRequest, s *core.Session, made bool) *heldSession {
	of := c.host.of
	asks := of.Rights.Has(access.Answer)
	as := core.Client{
		Name: of.Says(clientName(req)), Principal: of.Principal, Caller: c.caller, Role: core.Decide,
		Asks: asks, Questions: asks, Visible: true, Profiles: c.server.opts.Profiles,
	}
	if !of.Rights.HasAny(access.Prompt | access.Answer) {
		as.Role = core.Observe
	}
	h := &heldSession{
		id: s.Meta().ID, meta: s.Meta(), a: s.Attach(as), made: made, board: c.server.opts.Board,
		asking: map[core.AskID]context.CancelCauseFunc{}, limits: map[core.AskID]func(){}, used: time.Now(),
		dismissed: map[core.AskID]int{}, closed: make(chan struct{}),
	}
	c.mu.Lock()
	other, left := c.held[h.id], c.left
	if other == nil && !left {
		c.held[h.id] = h
	}
	c.mu.Unlock()
	if other != nil {
		h.a.Close()
		return other
	}
	if left { // the call is ending; nothing would close it later
		h.a.Close()
	}
	c.makeRoom()
	return h
}

func (h *heldSession) touch() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.used = time.Now()
}

// idleFor returns the time since a client last named the session; ok is false while a turn runs
// in it, or a prompt or an ask is waiting.
func (h *heldSession) idleFor() (_ time.Duration, ok bool) {
	h.mu.Lock()
	used := h.used
	h.mu.Unlock()
	st := h.a.State()
	return time.Since(used), st.Turn == "" && len(st.Queued) == 0 && len(st.Asks) == 0
}

// makeRoom releases the session that has been idle for longest if the client holds more than
// maxHeld. The client is attached again when it names that session.
func (c *client) makeRoom() {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.held))
	c.mu.Unlock()
	if len(all) <= maxHeld {
		return
	}
	var oldest *heldSession
	var longest time.Duration
	for _, h := range all {
		if d, ok := h.idleFor(); ok && (oldest == nil || d > longest) {
			oldest, longest = h, d
		}
	}
	if oldest != nil {
		c.drop(oldest)
	}
}

// again opens a session that has closed under the client, for example because its store failed.
func (c *client) again(ctx context.Context, req clientRequest, h *heldSession) (*heldSession, error) {
	c.drop(h)
	return c.open(ctx, req, h.id)
}

// drop releases a session.
func (c *client) drop(h *heldSession) {
	c.mu.Lock()
	if c.held[h.id] == h {
		delete(c.held, h.id)
	}
	c.mu.Unlock()
	c.server.loans.TakeBack(h.a)
	h.close()
}

// close releases everything. No tool is running any more.
func (c *client) close() {
	c.mu.Lock()
	all, watched := c.held, c.watched
	c.held, c.watched, c.left = nil, nil, true
	c.mu.Unlock()
	for key := range watched {
		_, uri, _ := strings.Cut(key, " ")
		c.host.watches.drop(uri)
	}
	for _, h := range all {
		c.server.loans.TakeBack(h.a)
		h.close()
	}
	c.timers.Wait()
	c.dialogs.Wait()
}

func (h *heldSession) close() {
	h.mu.Lock()
	stops, dialogs := h.limits, h.asking
	h.limits, h.asking = map[core.AskID]func(){}, nil
	if h.fading != nil {
		h.fading.Stop()
	}
	h.mu.Unlock()
	for _, end := range dialogs {
		end(errWithdrawn)
	}
	for _, stop := range stops {
		stop()
	}
	h.a.Close()
}

// stalled reports whether the client leaves so much unread that optional messages should be
// dropped.
func (c *client) stalled() bool { return c.link != nil && c.link.Stalled() }

// errGone ends the calls of a client that has left. Their turns continue.
var errGone = errors.New("the connection has ended")

// call is a client's request that a tool handles.
type call struct {
	*edge.Call
	progress *progress
}

// call finds the call of a request, and returns the context for the tool; done ends both. Over
// HTTP the call is cancelled when its context ends while it runs: the client has cancelled it, or
// closed the response at 2026-07-28 (Transports, Streamable HTTP, Cancellation).
func (c *client) call(ctx context.Context, extra *mcp.RequestExtra) (_ context.Context, by *call, done func()) {
	c.server.opts.Look()
	if c.link != nil {
		return ctx, &call{Call: c.link.Call(extra)}, func() {}
	}
	var over atomic.Bool // the call is answered; the end of its context means nothing any more
	by = &call{Call: edge.NewCall(func(by *edge.Call) {
		select {
		case <-c.gone:
		default:
			if ctx.Err() != nil && !over.Load() {
				by.Cancel()
			}
		}
	})}
	watch := func() { by.Canceled() }
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	off := context.AfterFunc(ctx, watch)
	working, stop := until(ctx, c.gone, errGone)
	return working, by, func() {
		watch() // it may have ended the call
		over.Store(true)
		off()
		stop()
		c.mu.Lock()
		c.calls--
		c.mu.Unlock()
	}
}

// clientName returns the name that the client gives.
func clientName(req clientRequest) string {
	info := req.ClientInfo()
	if info == nil || cmp.Or(info.Title, info.Name) == "" {
		return "an MCP client"
	}
	return line(cmp.Or(info.Title, info.Name)+" "+info.Version, 100)
}

// began records a turn of this client.
func (h *heldSession) began(b turnStart) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.begun) == keepBegun {
		h.begun = append(h.begun[:0], h.begun[1:]...)
	}
	h.begun = append(h.begun, b)
}

// from returns a position before the beginning of a turn.
func (h *heldSession) from(turn core.TurnID) core.Pos {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.begun {
		if b.turn == turn {
			return b.from
		}
	}
	return core.Pos{}
}

// newest finds the turn that began last, and its beginning. It searches the log after the last
// turn that this connection began or found, backwards from the end, in steps that grow: a long
// session is not read for it.
func (h *heldSession) newest(ctx context.Context) (turn core.TurnID, from core.Pos, err error) {
	h.mu.Lock()
	last := h.seen.from
	if n := len(h.begun); n > 0 && last.Before(h.begun[n-1].from) {
		last = h.begun[n-1].from
	}
	h.mu.Unlock()
	head := h.a.Head()
	for step := uint64(firstStep); turn == "" && err == nil; step *= 8 {
		after := core.Pos{Epoch: head.Epoch, Seq: head.Seq - min(head.Seq, step)}
		if after.Before(last) {
			after, last = last, core.Pos{} // a truncation may hide its last result
		}
		turn, from, err = h.newestBehind(ctx, after, head)
		if after.Seq <= 1 {
			break
		}
	}
	if turn == "" && err == nil {
		err = errNoTurn
	}
	if err == nil {
		h.mu.Lock()
		h.seen = turnStart{turn: turn, from: from}
		h.mu.Unlock()
	}
	return turn, from, err
}

// firstStep is the number of records in the first step of newest.
const firstStep = 128

// newestBehind finds the last turn that began between two positions.
func (h *heldSession) newestBehind(
	ctx context.Context,
	after, head core.Pos,
) (turn core.TurnID, from core.Pos, err error) {
	for rec, err := range h.a.Records(ctx, after, head) {
		if err != nil {
			return "", from, err
		}
		if e, ok := rec.Event.(core.TurnStarted); ok {
			turn, from = e.Turn, core.Pos{Epoch: rec.Epoch, Seq: rec.Seq}
		}
	}
	return turn, from, nil
}

// stop records that a turn was cancelled over this connection.
func (h *heldSession) stop(turn core.TurnID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = turn
}

// ending reports whether a turn was cancelled over this connection.
func (h *heldSession) ending(turn core.TurnID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.begun {
		if b.turn == turn && b.call.Canceled() {
			return true
		}
	}
	return h.stopping == turn
}

// gone waits until a turn no longer runs.
func (h *heldSession) gone(ctx context.Context, turn core.TurnID) error {
	r := h.a.Read(h.a.Head())
	defer r.Close()
	for h.a.State().Turn == turn {
		if _, err := r.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// admit begins a turn, which the call's own context can cancel. A prompt after a cancel waits for
// the cancelled turn; if the session is busy for another reason, it fails with a *core.BusyError.
func (c *client) admit(
	ctx context.Context,
	req clientRequest,
	h *heldSession,
	by *call,
	p core.Prompt,
) (core.TurnID, core.Pos, error) {
	p.Busy = core.BusyRefuse
	for {
		from := h.a.Head()
		lends := c.lend(req, h)
		turn, err := h.a.Prompt(by.Context(), p)
		lends.Begin(turn)
		if busy, ok := errors.AsType[*core.BusyError](err); ok && h.ending(busy.Turn) {
			if err := h.gone(ctx, busy.Turn); err != nil {
				return "", from, err
			}
			continue
		}
		if turn != "" {
			h.began(turnStart{turn, from, by})
		}
		return turn, from, err
	}
}
