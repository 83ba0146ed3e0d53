package acp

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"

	"go.uber.org/zap"

	"dragoman/adapters/clients"
	"dragoman/adapters/proto/acp"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/board"
)

// session is one session on this connection.
type session struct {
	srv     *Server
	id      core.SessionID
	att     *core.Attachment
	queue   *pump.Queue
	prompts *pump.Prompts
	choices *pump.Queue // for choices that wait for the session's agent
	offer   *atomic.Pointer[Offer]
	servers []acp.MCPServer   // MCP servers that the client added to it
	unknown string            // about the others, for the user
	failed  map[string]string // why servers do not run, as the user was told; of the queue
	foreign []string          // requested folders that it does not have
	missing string            // the notice of losses in the log, sent once
	loaded  bool              // the client knows its past
	system  *core.SystemPrompt
	feed    *feed
	told    bool // the commands were sent with a prompt; of the reading goroutine
	// observed: it is that of a task, of which only some calls are shown, in the parent's session.
	observed bool
	cancels  bool // it is that of a task, which the client can cancel
}

// feed connects the session to the pump. All of it belongs to the pump's goroutine.
type feed struct {
	sess  *session
	view  *View
	pos   core.Pos // the position that the client has reached
	waits []waiter
	over  bool // another feed has replaced it, or the log cannot be read
	asked map[core.AskID]*wire.Ask

	company  pump.Company
	listed   bool     // the client was told of others
	children []*child // of running calls, in the order in which they were announced
}

// waiter is a function that is called once the client has reached a position.
type waiter struct {
	at core.Pos
	do func()
}

var _ pump.Feed = (*feed)(nil)

// Encode implements pump.Feed.
func (f *feed) Encode(dst []byte, r core.Record) ([]byte, func()) {
	replay := f.view.past(r)
	if !replay {
		dst = f.live(dst)
	}
	if e, ok := r.Event.(core.CallChanged); ok {
		if dst = f.adopt(dst, e.Call, replay); e.Call.State.Ended() {
			dst = f.finish(dst, e.Call.ID, f.view.history == nil)
		}
	}
	was := f.view.Now.Offered
	dst = Encode(dst, f.view, r)
	if e, ok := r.Event.(core.Asked); ok {
		dst = f.followAsked(dst, e.Ask, replay)
	}
	if replay && !r.End().Before(f.view.Head) {
		dst = f.live(dst)
	}
	switch e := any(r.Event).(type) {
	case core.Answered:
		return dst, f.ask // an open request is withdrawn before the turn ends
	case core.Foreign:
		if e.Method == acp.AuthChanged && !replay {
			srv := f.sess.srv
			return dst, func() { srv.crew.Go(func() { srv.sendAuthStatus(context.Background()) }) }
		}
	case core.Offered:
		if !replay && f.view.Offer != nil && !reflect.DeepEqual(e.Commands, was.Commands) { // and not that of a task
			return dst, func() { f.sess.queue.Go(func() { f.sess.sendChangedCommands(context.Background()) }) }
		}
	}
	return dst, f.sess.prompts.After(r.Event)
}

// live ends the history, if there is one: updates are written at once from here on.
func (f *feed) live(dst []byte) []byte {
	h := f.view.history
	if h == nil {
		return dst
	}
	for _, c := range f.children {
		if c.partial() {
			dst = f.weave(dst, c)
			c.sess.feed.view.history = nil
		}
	}
	dst = h.settle(dst, f.view)
	f.view.history = nil
	for _, c := range f.children {
		if !c.partial() {
			dst = f.weave(dst, c)
		}
	}
	return dst
}

// Caught implements pump.Feed.
func (f *feed) Caught(pos core.Pos) {
	f.pos = pos
	caught := !pos.Before(f.view.Head)
	if caught && f.view.history != nil { // the end of the history is hidden
		_ = f.sess.srv.conn.PutLines(f.live(nil)) // nobody reads after the connection has ended
	}
	f.settle()
	f.ask()
	if caught {
		f.follow()
	}
}

// when calls do once the client has reached a position.
func (f *feed) when(at core.Pos, do func()) {
	f.waits = append(f.waits, waiter{at, do})
	f.settle()
}

// settle calls the functions whose position has been reached.
func (f *feed) settle() {
	var left []waiter
	waits := f.waits
	f.waits = nil
	for _, w := range waits {
		if !f.over && f.pos.Before(w.at) {
			left = append(left, w)
			continue
		}
		w.do()
	}
	f.waits = append(left, f.waits...)
}

// retire ends a feed: nothing waits for it any more.
func (f *feed) retire() {
	f.over = true
	f.company.Stop()
	f.withdraw(nil)
	f.settle()
	for _, c := range f.children {
		f.release(c)
	}
	f.children = nil
}

// Past implements pump.Feed.
func (f *feed) Past() bool { return f.view.history != nil }

// Lost implements pump.Feed.
func (f *feed) Lost(err error) {
	if !errors.Is(err, core.ErrClosed) { // it may have been deleted
		f.sess.srv.log.Error("session can no longer be read", sessionField(f.view.Session), zap.Error(err))
	}
	f.sess.prompts.Abandon(
		core.TurnEnded{
			Stop: core.StopError,
			Err:  "the connection to this session was lost: " + err.Error(),
		},
	)
	f.retire() // its tasks are followed no longer, either
}

// entrance describes the way a session comes onto the connection.
type entrance struct {
	after, head core.Pos
	replay      bool
	servers     []acp.MCPServer // of the client, with a known transport
	unknown     string          // about the others, for the user
	system      *core.SystemPrompt
	foreign     []string // requested folders that the session does not have
	missing     string   // the notice of losses in the log, for a client that cannot see their place
	offer       *Offer
	att         *core.Attachment          // nil: it is not attached yet
	answer      func(acp.SessionResponse) // called before the first record, or with replay after the last
}

// add attaches this connection to a session and serves it.
func (s *Server) add(ctx context.Context, cs *core.Session, e entrance) {
	sess, old := s.enter(cs, e)
	if sess == nil {
		return // the client has left
	}
	state := chosen(sess.att.State())
	first := func() { e.answer(e.offer.response(sess.id, state)) }
	switch {
	case sess == old: // resumed again: nothing to do
		s.pump.Do(first)
		return
	case old != nil && sess.feed == old.feed: // but with other servers
		s.pump.Do(func() {
			sess.feed.sess, sess.feed.view.Offer = sess, e.offer
			first()
			sess.sendInitial(ctx)
		})
		return
	}
	if old != nil {
		s.pump.Remove(old.feed)
		s.pump.Do(old.feed.retire)
	}
	f := sess.feed
	if e.replay {
		first = func() { f.when(e.head, func() { e.answer(f.view.Offer.response(sess.id, f.view.Now)) }) }
	} else {
		f.view.Now = state
	}
	s.pump.Add(sess.att, e.after, f, first)
	s.pump.Do(func() { f.present(board.Clients(s.opts.Board, s.opts.Principal, sess.id)) })
	s.pump.Do(func() { sess.sendInitial(ctx) })
}

// enter gives a session its place on the connection, and returns the previous one. If it is
// loaded again, running turns continue and the client sees all of it again; if it is resumed
// again, it stays unchanged. The core identifies a client's MCP servers by the attachment, so
// other servers, or another system prompt, need a new one.
func (s *Server) enter(cs *core.Session, e entrance) (sess, old *session) {
	is := s.who()
	sess = &session{
		srv:     s,
		id:      cs.Meta().ID,
		queue:   pump.NewQueue(&s.wg),
		choices: pump.NewQueue(&s.wg),
		prompts: &pump.Prompts{},
		offer:   &atomic.Pointer[Offer]{},
		servers: e.servers,
		system:  e.system,
		unknown: e.unknown,
		foreign: e.foreign,
		missing: e.missing,
		loaded:  e.replay || e.head == (core.Pos{}),
	}
	s.mu.Lock()
	for !s.left && e.att == nil && !s.keepsLocked(cs, e) {
		s.mu.Unlock()
		e.att = s.attach(cs, e)
		s.mu.Lock()
	}
	spare := e.att // the attachment that is not used
	switch old = s.sessions[sess.id]; {
	case s.left:
		sess = nil
	case old == nil:
		sess.att, spare = e.att, nil
	case !s.keepsLocked(cs, e):
		sess.att, spare = e.att, old.att
		sess.take(old)
		if !e.replay && old.att.To(cs) {
			sess.feed = old.feed
		}
	case !e.replay:
		sess = old
	default:
		sess.att = old.att
		sess.take(old)
	}
	if sess != nil && sess != old {
		sess.offer.Store(e.offer)
	}
	if sess != nil && sess.feed == nil {
		sess.feed = &feed{sess: sess, view: s.view(sess, is, e), asked: map[core.AskID]*wire.Ask{}}
		if h := sess.feed.view.history; h != nil {
			h.Sent = sess.feed.showTask
		}
	}
	if sess != nil {
		s.sessions[sess.id] = sess
	}
	s.mu.Unlock()
	if spare != nil {
		spare.Close()
	}
	return sess, old
}

// keepsLocked reports whether the attachment that the connection has stays when its session is opened
// again. A new one would be shown to others as one more client.
func (s *Server) keepsLocked(cs *core.Session, e entrance) bool {
	old := s.sessions[cs.Meta().ID]
	return old != nil && old.att.To(cs) && reflect.DeepEqual(specsOf(old.servers), specsOf(e.servers)) && reflect.DeepEqual(old.system, e.system)
}

// attach attaches the connection's client to a session.
func (s *Server) attach(cs *core.Session, e entrance) *core.Attachment {
	is := s.who().client
	is.Principal, is.Profiles = s.opts.Principal, s.opts.Profiles
	is.Servers, is.System, is.Visible = specsOf(e.servers), e.system, true
	return cs.Attach(is)
}

// take continues with the parts of a session that stay as long as it is on the connection.
func (s *session) take(old *session) {
	s.queue, s.choices, s.prompts, s.offer = old.queue, old.choices, old.prompts, old.offer
}

// view returns the encoder's view of a session that comes onto the connection.
func (s *Server) view(sess *session, is peer, e entrance) *View {
	v := NewView(sess.id, sess.prompts.Prefix(), e.head)
	v.Cwd, v.Client = sess.att.Meta().Cwd, is.client.Name
	v.Offer, v.Known = e.offer, clients.Of(is.client.Name)
	if e.replay {
		v.remember()
	}
	v.Display = Shows{
		Notices: bool(is.caps.Session.Notices), Compaction: bool(is.caps.Session.Compaction), Terminals: s.terminals,
		Output: bool(is.caps.Meta.TerminalOutput && !is.caps.Terminal), // else commands run in terminals of its own
		Forms:  bool(is.caps.Elicitation.Form), Pages: bool(is.caps.Elicitation.URL),
		Subagents: bool(is.caps.Subagents), Plans: bool(is.caps.Plan),
	}
	return v
}

// response returns the answer to a request that opens a session.
func (o *Offer) response(id core.SessionID, now Chosen) acp.SessionResponse {
	return acp.SessionResponse{
		SessionID:     string(id),
		Modes:         o.modes(now),
		ConfigOptions: o.options(now),
		Models:        o.models(now),
	}
}

// after calls do once everything up to a position has been sent to the client.
func (s *session) after(at core.Pos, do func()) {
	f := s.srv.current(s).feed
	s.srv.pump.Do(func() { f.when(at, do) })
}

// leave stops the turns prompted over this connection and detaches.
func (s *session) leave() {
	s.srv.pump.Remove(s.feed)
	s.prompts.Stop(core.ErrClientGone)
	s.att.Close()
}
