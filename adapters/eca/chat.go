package eca

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// chat is one chat of this connection. It may have no session yet, and none any
// more: then att is nil.
type chat struct {
	srv     *Server
	id      core.SessionID
	queue   *pump.Queue
	prompts pump.Prompts
	att     atomic.Pointer[core.Attachment] // written by the queue's goroutine
	shown   atomic.Bool                     // the client has it: it must hear when somebody else deletes it

	// The queue's goroutine has the fields below.
	chosen  choice // before there is a session
	plan    bool   // the default agent stands for a plan agent
	child   bool   // it is shown within another one; written before anybody knows it
	trusted bool   // a prompt of this connection said so, and the last one still did

	// The pump's goroutine has the fields below.
	feed    *feed // nil: nothing is read
	waits   []waiter
	answers map[core.TurnID]func()  // of prompts that are answered when they begin
	held    map[core.TurnID]func()  // of those that are answered when their model says something
	running map[*prompting]struct{} // that were taken and have not ended
	idle    []func()                // done once there are none
	wish    *choice                 // was told to have been chosen, of a chat that has not begun
}

// waiter waits until the client has been told all that happened before pos.
type waiter struct {
	pos core.Pos
	do  func()
}

// feed is a chat's side in the pump, for one reader. All of it belongs to the
// pump's goroutine.
type feed struct {
	chat   *chat
	att    *core.Attachment
	view   *View
	pos    core.Pos
	head   core.Pos // where history ends
	opened func()   // done behind the history; nil: nothing
	page   *page    // the part of the history that is shown; nil: all of it
	title  string   // that it was opened with
	gone   bool     // another feed has taken its place
	busy   bool     // the client believes that a turn runs which ended within the history

	questions map[core.AskID]*wire.Asked // that the client was asked
	children  map[core.CallID]*chat      // of calls that run
}

var _ pump.Feed = (*feed)(nil)

// urgent reports whether a record is shown whichever page of the chat is open: a Missing, as
// long as something is to be done about it.
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
	live, flags, start := f.view.live, f.view.flags, len(dst)
	dst = encode(dst, f.view, r)
	if !live && f.page != nil && !f.page.shows(r.Event) && !urgent(r.Event) {
		dst = dst[:start]
	}
	switch e := any(r.Event).(type) {
	case core.TurnStarted:
		return dst, both(f.chat.prompts.After(e), f.chat.answers[e.Turn])
	case core.Flagged:
		if live && !f.view.lacks[eca.MethodCleared] && flags[e.Message] != e.Text {
			return dst, func() { f.replay(f.page.rest()) }
		}
	case core.Truncated:
		if live && !f.view.lacks[eca.MethodCleared] {
			return dst, func() { f.replay(nil) }
		}
	case core.SettingsChanged:
		if live {
			f.chat.srv.follow(f.view.offer, e.Settings, f.view.plan)
		}
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
		if f.busy && f.view.turn == "" { // the history does not say so
			f.put(f.view.finished(nil))
		}
		if f.opened != nil {
			f.opened()
			f.opened = nil
		}
	}
	f.ask()
	f.chat.wake()
}

// Lost implements pump.Feed. The next prompt opens the session anew.
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

// retire ends a feed whose place is taken. An answer that waits for its history is
// given: what follows is shown anew.
func (f *feed) retire() {
	f.gone = true
	f.leave()
	f.chat.srv.pump.Remove(f)
	if f.opened != nil {
		f.opened()
		f.opened = nil
	}
}

// replay shows a part of the chat anew, or all of it: behind a truncation, or with
// other marks.
func (f *feed) replay(part *page) {
	c := f.chat
	f.gone = true
	f.leave()
	c.srv.pump.Remove(f)
	head := f.att.Head()
	next := c.newFeed(f.att, f.view.offer, f.view.plan)
	next.head, next.page, next.view.told = head, part, f.view.told
	next.opened = func() { next.put(next.view.title(nil)) }
	c.feed = next
	c.srv.pump.Add(f.att, core.Pos{}, next, nil)
}

// newFeed returns a feed that has nothing yet. Where its history ends is looked up
// before: then no mark is missed.
func (c *chat) newFeed(att *core.Attachment, o *offer, plan bool) *feed {
	p := c.srv.peerNow()
	f := &feed{chat: c, att: att, view: newView(c.id, p.lacks, p.name, o)}
	f.view.plan, f.view.flags = plan, att.Flags()
	return f
}

// wake does what has waited for the client to be told.
func (c *chat) wake() {
	for len(c.waits) > 0 && (c.feed == nil || c.feed.view.live && !c.feed.pos.Before(c.waits[0].pos)) {
		do := c.waits[0].do
		c.waits = c.waits[1:]
		do()
	}
}

// behind does something once the client has been told all that happened before
// pos. It may be called by any goroutine.
func (c *chat) behind(pos core.Pos, do func()) {
	c.srv.pump.Do(func() {
		c.waits = append(c.waits, waiter{pos, do})
		c.wake()
	})
}

// errNoChat says that a client named a chat that is not there.
func errNoChat(id core.SessionID) error { return wrong("chatId: there is no chat %.100q", string(id)) }

// attach opens the chat's session, if it is not open, and begins to serve it behind
// what it holds. With create a session that is not there is made; created says so.
// first is done before anything else is said of it. It belongs to the queue.
func (c *chat) attach(ctx context.Context, create bool, first func(created bool)) (att *core.Attachment, err error) {
	if att := c.att.Load(); att != nil {
		return att, nil
	}
	sess, created, err := c.session(ctx, create)
	if err != nil {
		return nil, err
	}
	att = sess.Attach(c.srv.client())
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

// serve begins to read an attachment behind a position, in the place of whatever
// was read before. It belongs to the queue.
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
	if old != nil && old != att {
		old.Close()
	}
}

// session opens or makes the session. Somebody else may make or remove it between
// the two.
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

// detach lets the session go; nothing more is said of it. It belongs to the queue,
// and returns when the pump has let go, or the connection has ended.
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
		}
		c.wake()
		c.srv.pump.Do(func() { close(done) }) // behind the removal
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
	att.Close()
}

// reply answers a request behind everything that was put into the stream before.
func (s *Server) reply(ctx context.Context, call *wire.Call, result any, err error) {
	s.pump.Do(func() { s.answer(ctx, call, result, err) })
}

// gap is how long nothing is said behind an answer that the Emacs client waits for
// while a turn runs: it loses what comes in the same read.
const gap = 15 * time.Millisecond

// answer is reply on the pump's goroutine.
func (s *Server) answer(ctx context.Context, call *wire.Call, result any, err error) {
	if err != nil {
		call.Reply(nil, wireError(err))
	} else {
		call.Reply(result, nil)
	}
	if call.IsNotification() || s.peerNow().name != "emacs" || !s.busy() {
		return
	}
	if s.conn.Room(ctx, 1) != nil { // the answer has not left
		return
	}
	t := time.NewTimer(gap)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// busy says whether the client watches a turn. It belongs to the pump.
func (s *Server) busy() bool {
	for _, c := range s.allChats() {
		if c.feed != nil && c.feed.view.turn != "" {
			return true
		}
	}
	return false
}

// cleared is chat/cleared.
func (s *Server) cleared(id core.SessionID) {
	s.notify(eca.MethodCleared, eca.ClearedParams{ChatID: string(id), Messages: true})
}

// opened is chat/opened.
func (s *Server) opened(id core.SessionID, title string) {
	s.notify(eca.MethodOpened, eca.OpenedParams{ChatID: string(id), Title: title})
}
