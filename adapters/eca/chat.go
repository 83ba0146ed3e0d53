package eca

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"dragoman/adapters/eca/offer"
	"dragoman/adapters/eca/refer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// chat is one chat of this connection. If it has no session yet, or no longer has one, att is
// nil.
type chat struct {
	srv     *Server
	id      core.SessionID
	queue   *pump.Queue
	prompts pump.Prompts
	att     atomic.Pointer[core.Attachment] // written by the queue's goroutine
	shown   atomic.Bool                     // the client shows it, so it must be notified if another client deletes it

	// The fields below belong to the queue's goroutine.
	chosen  offer.Choice // until there is a session
	plan    bool         // the default agent acts as the plan agent
	child   bool         // another chat shows it; set before the chat is known to others
	shelf   refer.Shelf
	trusted bool // a prompt of this connection asked for trust, and so did the last one
	untold  bool // the session was created before the first prompt, to ask its agent
	asking  int  // the number of times that its agent was to be asked

	// The fields below belong to the pump's goroutine.
	feed    *feed // nil: no session is read
	waits   []waiter
	answers map[core.TurnID]func()      // for prompts that are answered when they begin
	held    map[core.TurnID]func()      // for prompts that are answered when their model responds
	running map[*pendingPrompt]struct{} // accepted and not ended
	idle    []func()                    // called when none is running
	wish    *offer.Choice               // the choice announced for a chat that has not begun
	company *pump.Company
}

// waiter waits until everything before pos has been sent to the client.
type waiter struct {
	pos core.Pos
	do  func()
}

// feed connects a chat to the pump, for one reader. It belongs to the pump's goroutine.
type feed struct {
	chat   *chat
	att    *core.Attachment
	view   *View
	pos    core.Pos
	head   core.Pos // the end of the history
	opened func()   // called after the history; nil: nothing
	page   *page    // the part of the history to show; nil: all of it
	title  string   // the title at its beginning
	gone   bool     // another feed has replaced this one
	busy   bool     // the client shows a turn as running that ended within the history
	behind []behind

	questions map[core.AskID]*wire.Ask // open requests to the client
	children  map[core.CallID]*chat    // of running calls
}

var _ pump.Feed = (*feed)(nil)

// urgent reports whether a record is shown on every page of the chat: a Missing, as long as the
// user can still do something about it.
func urgent(ev core.Event) bool {
	m, ok := ev.(core.Missing)
	return ok && !m.Final
}

// Encode implements pump.Feed.
func (f *feed) Encode(dst []byte, r core.Record) ([]byte, func()) {
	if f.gone {
		return dst, nil
	}
	if e, ok := r.Event.(core.CallChanged); ok && e.Call.State.Ended() {
		dst = f.weave(dst, e.Call.ID)
	}
	live := f.view.live
	defer f.listed()
	if _, starts := any(r.Event).(core.TurnStarted); starts && live {
		f.view.fixed = f.chat.srv.fixed(f.view.offer, f.view.state)
	}
	remarked, _ := r.Event.(core.Flagged)
	remarks := f.view.remarks(remarked)
	f.view.hides = !live && f.page != nil && !f.page.shows(r.Event) && !urgent(r.Event)
	dst = encode(dst, f.view, r)
	switch e := any(r.Event).(type) {
	case core.TurnStarted:
		return dst, both(both(f.chat.prompts.After(e), f.chat.answers[e.Turn]), f.relist())
	case core.Flagged:
		if live && !f.view.lacks[eca.MethodCleared] && remarks {
			return dst, func() { f.replay(f.page.rest()) }
		}
	case core.Truncated:
		if live && !f.view.lacks[eca.MethodCleared] {
			return dst, func() { f.replay(nil) }
		}
	case core.SettingsChanged:
		if live {
			f.chat.srv.follow(f.view.offer, f.view.state)
		}
	case core.Offered:
		f.chat.srv.known.Add(e, !live)
	case core.TurnEnded:
		then := f.chat.prompts.After(e)
		f.busy = f.busy || !live && then != nil
		return dst, then
	case core.PromptQueued:
		return dst, f.chat.prompts.After(e)
	case core.Phase:
		if e.Kind == core.PhaseGenerating {
			return dst, f.chat.held[e.Turn]
		}
	case core.CallChanged:
		then := f.chat.held[f.view.turn]
		if live && e.Call.State == core.Running && e.Call.Child != "" && f.children[e.Call.ID] == nil {
			then = both(then, func() { f.adopt(e.Call.ID, e.Call.Child) })
		}
		return dst, then
	case core.TextDelta, core.ThoughtStarted:
		return dst, f.chat.held[f.view.turn]
	case core.Moved:
		if turn := f.view.turn; live {
			return dst, func() { f.chat.moved(turn, e.To) }
		}
	}
	return dst, nil
}

func both(a, b func()) func() {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func() { a(); b() }
}

// Caught implements pump.Feed.
func (f *feed) Caught(pos core.Pos) {
	if f.gone {
		return
	}
	if f.pos = pos; !f.view.live {
		if pos.Before(f.head) {
			return
		}
		f.put(f.view.settle(nil))
		f.adoptAll()
		if f.busy && f.view.turn == "" { // the history does not contain the end
			f.put(f.view.finished(nil))
		}
		if f.opened != nil {
			f.opened()
			f.opened = nil
		}
	}
	f.behind = slices.DeleteFunc(f.behind, func(b behind) bool {
		if pos.Before(b.pos) {
			return false
		}
		b.do()
		return true
	})
	f.ask()
	f.chat.wake()
}

// behind holds a function to call once the client has been sent the log up to a position.
type behind struct {
	pos core.Pos
	do  func()
}

// afterLog calls do, on the pump's goroutine, when the client has been sent the log as it is now.
func (c *chat) afterLog(att *core.Attachment, do func()) {
	head := att.Head()
	c.srv.pump.Do(func() {
		if f := c.feed; f != nil && !f.gone && f.pos.Before(head) {
			f.behind = append(f.behind, behind{head, do})
		} else {
			do()
		}
	})
}

// Past implements pump.Feed.
func (f *feed) Past() bool { return !f.view.live }

// Lost implements pump.Feed. The next prompt opens the session again.
func (f *feed) Lost(err error) {
	if f.gone {
		return
	}
	f.gone = true
	f.leave()
	c := f.chat
	if !errors.Is(err, core.ErrClosed) {
		c.srv.log.Error("chat can no longer be read", zap.String("session", string(c.id)), zap.Error(err))
	}
	if f.view.turn != "" {
		f.put(f.view.finished(f.view.systemText(nil, "The connection to this chat was lost: "+err.Error())))
	}
	c.feed = nil
	c.company.Stop()
	c.prompts.Abandon(core.TurnEnded{Stop: core.StopError, Err: err.Error()})
	if f.opened != nil {
		f.opened()
	}
	c.wake()
	c.queue.Go(func() {
		if c.att.CompareAndSwap(f.att, nil) {
			f.att.Close()
		}
	})
}

// put writes messages.
func (f *feed) put(lines []byte) { f.chat.srv.put(lines) }

// retire ends a feed that another one replaces. A request that waits for its history is answered:
// the new feed shows the chat again.
func (f *feed) retire() {
	f.gone = true
	f.leave()
	f.chat.srv.pump.Remove(f)
	if f.opened != nil {
		f.opened()
		f.opened = nil
	}
}

// replay shows the chat or a part of it again, after a truncation or a change of marks.
func (f *feed) replay(part *page) {
	c := f.chat
	f.gone = true
	f.leave()
	c.srv.pump.Remove(f)
	head := f.att.Head()
	next := c.newFeed(f.att, f.view.offer, f.view.state.Plan)
	next.head, next.page, next.view.told = head, part, f.view.told
	next.opened = func() { next.put(next.view.title(nil)) }
	c.feed = next
	c.srv.pump.Add(f.att, core.Pos{}, next, nil)
}

// newFeed returns a feed that has read nothing. The end of its history is read before, so that no
// mark is missed.
func (c *chat) newFeed(att *core.Attachment, o *offer.Offer, plan bool) *feed {
	p := c.srv.peerNow()
	f := &feed{chat: c, att: att, view: newView(c.id, p.lacks, p.name, o)}
	f.view.state.Plan, f.view.flags, f.view.self = plan, att.Flags(), att.Client().Name
	st := att.State()
	c.srv.known.Add(st.Offered, true)
	f.view.fixed = c.srv.fixed(o, offer.State{Settings: st.Settings})
	return f
}

// wake calls the waiters whose position has been sent.
func (c *chat) wake() {
	for len(c.waits) > 0 && (c.feed == nil || c.feed.view.live && !c.feed.pos.Before(c.waits[0].pos)) {
		do := c.waits[0].do
		c.waits = c.waits[1:]
		do()
	}
}

// behind calls do once everything before pos has been sent to the client. Any goroutine may call
// it.
func (c *chat) behind(pos core.Pos, do func()) {
	c.srv.pump.Do(func() {
		c.waits = append(c.waits, waiter{pos, do})
		c.wake()
	})
}

// errNoChat is the error for the id of a chat that does not exist.
func errNoChat(id core.SessionID) error { return wrong("chatId: there is no chat %.100q", string(id)) }

// attach opens the chat's session if it is not open, and serves it from its end. If create is
// set, a missing session is created, and created is true. first is called before any message
// about the chat. attach belongs to the queue.
func (c *chat) attach(ctx context.Context, create bool, first func(created bool)) (att *core.Attachment, err error) {
	if att := c.att.Load(); att != nil {
		return att, nil
	}
	sess, created, err := c.session(ctx, create)
	if err != nil {
		return nil, err
	}
	att = sess.Attach(c.srv.client(sess.Meta().Roots))
	head := att.Head()
	f := c.newFeed(att, c.srv.offered(), c.plan)
	f.view.begin(att.State())
	c.serve(att, head, f, func() {
		if first != nil {
			first(created)
		}
	})
	return att, nil
}

// serve begins to read an attachment after a position, in place of the previous reader. It
// belongs to the queue.
func (c *chat) serve(att *core.Attachment, after core.Pos, f *feed, first func()) {
	old := c.att.Swap(att)
	c.shown.Store(true)
	c.srv.pump.Do(func() {
		if c.feed != nil {
			c.feed.retire()
		}
		f.busy = c.feed != nil && c.feed.view.turn != ""
		c.feed = f
	})
	c.srv.pump.Add(att, after, f, first)
	c.srv.pump.Do(c.join)
	if old != nil && old != att {
		old.Close()
	}
}

// session opens or creates the session. Another client may create or remove it between the two
// steps.
func (c *chat) session(ctx context.Context, create bool) (sess *core.Session, created bool, err error) {
	for range 3 {
		sess, err = c.srv.opts.Gateway.Open(ctx, c.srv.opts.Principal, c.id)
		if err == nil && sess.Meta().Parent != "" { // its parent shows it
			return nil, false, core.ErrNotFound
		}
		if !create || !errors.Is(err, core.ErrNotFound) {
			return sess, false, err
		}
		roots := c.srv.rootsNow()
		sess, err = c.srv.opts.Gateway.Create(ctx, core.Meta{ID: c.id, Principal: c.srv.opts.Principal, Cwd: roots[0], Roots: roots})
		if !errors.Is(err, core.ErrExists) {
			return sess, err == nil, err
		}
	}
	return nil, false, err
}

// detach lets go of the session; the client hears no more of it. It belongs to the queue, and
// returns when the pump has let go of the session or the connection has ended.
func (c *chat) detach(ctx context.Context) {
	att := c.att.Swap(nil)
	if att == nil {
		return
	}
	done := make(chan struct{})
	c.srv.pump.Do(func() {
		if c.feed != nil {
			c.feed.retire()
			c.feed = nil
			c.company.Stop()
		}
		c.wake()
		c.srv.pump.Do(func() { close(done) }) // after the removal
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
	att.Close()
}

// reply answers a request after everything that was put into the stream before.
func (s *Server) reply(ctx context.Context, call *wire.Call, result any, err error) {
	s.pump.Do(func() { s.answer(ctx, call, result, err) })
}

// answer does the work of reply on the pump's goroutine.
func (s *Server) answer(ctx context.Context, call *wire.Call, result any, err error) {
	if err != nil {
		call.Reply(nil, wireError(err))
	} else {
		call.Reply(result, nil)
	}
	gap := s.row().Gap
	if call.IsNotification() || gap == 0 || !s.busy() {
		return
	}
	if s.conn.Room(ctx, 1) != nil { // the answer has not been written
		return
	}
	t := time.NewTimer(gap)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// busy reports whether the client watches a turn. It belongs to the pump.
func (s *Server) busy() bool {
	for _, c := range s.allChats() {
		if c.feed != nil && c.feed.view.turn != "" {
			return true
		}
	}
	return false
}

// cleared sends chat/cleared.
func (s *Server) cleared(id core.SessionID) {
	s.notify(eca.MethodCleared, eca.ClearedParams{ChatID: string(id), Messages: true})
}

// opened sends chat/opened.
func (s *Server) opened(id core.SessionID, title string) {
	s.notify(eca.MethodOpened, eca.OpenedParams{ChatID: string(id), Title: title})
}
