package acp

import (
	"context"
	"encoding/json"
	"slices"

	"go.uber.org/zap"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
)

// A task that is delegated to another agent runs in a session of its own, the child. A client that
// knows subagents sees it as a session under that of the call: a subagent_update announces it there,
// then the child's updates and the requests for its approvals come under the child's id, and it is
// idle before the call ends. In a load the history of a child follows its call, which has its end there. The client can only cancel the work of a child; that of an external agent's sub-agent
// only if the agent takes it. Questions and consents are put to the user in the parent's session, which
// also provides the editor. Other clients see only the call, and those calls of the child that the user
// is asked about: see taskcall.go.

// child is the session of a running call's task. It belongs to the pump's goroutine.
type child struct {
	id   core.SessionID
	call core.CallID
	sess *session            // nil: the client has it as a session of its own, and gets its updates there
	news *acp.SubagentUpdate // its announcement, which follows the call in a history; nil: it was announced
	live bool                // the pump serves it
	// passed holds the client's answers there that were no decisions, by the calls' ids in the parent.
	passed map[core.CallID]core.Reply
}

// partial reports whether only calls of the child are shown, in the parent's session.
func (c *child) partial() bool { return c.sess != nil && c.sess.feed.view.only != nil }

// adopt opens the child of a running call and announces it. A call whose child cannot be opened
// is shown as a call alone.
func (f *feed) adopt(dst []byte, c core.Call, replay bool) []byte {
	v, id := f.view, c.Child
	if !v.Display.Subagents || id == "" || c.State != core.Running || v.children[id] {
		return dst
	}
	is := announcement(c)
	sess, shown := f.sess.srv.adopted(f.sess.id, id, core.Decide, is.Capabilities.Cancel != nil)
	if !shown {
		return dst
	}
	is.SessionID, is.Title = string(id), title(v, c)
	is.State = &acp.SubagentState{State: acp.SubagentRunning}
	next := &child{id: id, call: c.ID, sess: sess, news: &is, passed: map[core.CallID]core.Reply{}}
	if sess != nil {
		cv := sess.feed.view
		cv.Display = v.Display
		cv.Display.Terminals, cv.Display.Output = "", false // a client looks for terminals in the parent's session
		cv.Cwd = v.Cwd
		cv.Now.Offered.Agent = c.Server
		if replay {
			cv.Head = sess.att.Head()
			cv.remember()
		} else if v.calls[c.ID] == nil { // the client resumed the session, and knows its past
			sess.feed.pos = sess.att.Head()
		}
	}
	put(&v.children, id, true)
	f.children = append(f.children, next)
	if v.history != nil {
		return dst // showTask announces it
	}
	return f.announce(dst, next)
}

// announce announces a child, if that has not been done.
func (f *feed) announce(dst []byte, c *child) []byte {
	if c.news == nil {
		return dst
	}
	dst = appendUpdate(dst, f.view, *c.news)
	c.news = nil
	return dst
}

// showTask appends the children of a call of the history, behind the call: with all that they did, if the
// call has ended.
func (f *feed) showTask(dst []byte, call string, ended bool) []byte {
	for _, c := range f.children {
		if string(c.call) == call && !c.partial() {
			dst = f.announce(dst, c)
		}
	}
	if ended {
		dst = f.finish(dst, core.CallID(call), true)
	}
	return dst
}

// announcement returns what the first update says about the child of a call. We can cancel a task of
// ours; of a sub-agent of an external agent the call's arguments say what it has announced.
func announcement(c core.Call) acp.SubagentUpdate {
	is := acp.SubagentUpdate{Capabilities: &acp.SubagentCapabilities{Cancel: &acp.Marker{}}}
	if c.Server != core.Native {
		is.Capabilities = &acp.SubagentCapabilities{}
		_ = json.Unmarshal(c.Args, &is) // without arguments it has announced nothing
	}
	if is.Capabilities == nil {
		is.Capabilities = &acp.SubagentCapabilities{}
	}
	is.SessionUpdate, is.Description = acp.UpdateSubagent, display.Clipped(is.Description, maxName)
	return is
}

// adopted attaches the connection to a child, whose work can be cancelled or not; !shown: it cannot be shown. A
// child that the client has as a session of its own is shown without it.
func (s *Server) adopted(parent, id core.SessionID, role core.Role, cancels bool) (sess *session, shown bool) {
	s.within(func(ctx context.Context) {
		cs, err := s.opts.Gateway.Open(ctx, s.opts.Principal, id)
		if err != nil || cs.Meta().Parent != parent {
			s.log.Warn("the session of a task cannot be shown", sessionField(id), zap.Error(err))
			return
		}
		is := s.who().client
		is.Principal, is.Profiles = s.opts.Principal, s.opts.Profiles
		is.Questions, is.Editor, is.Role = false, nil, role
		sess = &session{srv: s, id: id, observed: role == core.Observe, cancels: cancels, att: cs.Attach(is), queue: pump.NewQueue(&s.wg), prompts: &pump.Prompts{}}
		sess.feed = &feed{sess: sess, view: NewView(id, "", core.Pos{}), asked: map[core.AskID]*wire.Ask{}}
		sess.feed.view.Parent, sess.feed.view.state = parent, acp.SubagentState{State: acp.SubagentRunning}
		s.mu.Lock()
		own := s.sessions[id] != nil && role == core.Decide
		adopts := !own && !s.left && s.children[id] == nil
		if adopts {
			s.children[id] = sess
		}
		s.mu.Unlock()
		if shown = own || adopts; !adopts {
			sess.att.Close()
			sess = nil
		}
	})
	return sess, shown
}

// wovenBytes limits the part of a child's history that is written at once, in bytes.
const wovenBytes = 256 << 10

// weave appends the history of a child up to now. A long one is sent in parts, and waits for a
// client that does not read.
func (f *feed) weave(dst []byte, c *child) []byte {
	if c.sess == nil {
		return dst
	}
	next, s := c.sess.feed, f.sess.srv
	s.within(func(ctx context.Context) {
		for rec, err := range c.sess.att.Records(ctx, next.pos, c.sess.att.Head()) {
			if err != nil {
				s.log.Warn("the session of a task cannot be read", sessionField(c.sess.id), zap.Error(err))
				return
			}
			dst = Encode(dst, next.view, rec)
			next.pos = rec.End()
			if len(dst) < wovenBytes {
				continue
			}
			if s.pump.PutPart(ctx, dst) != nil {
				return // the connection has ended
			}
			dst = dst[:0]
		}
	})
	if h := next.view.history; h != nil && !c.partial() {
		dst = h.settle(dst, next.view)
		if next.view.history = nil; next.view.state.State != acp.SubagentRunning {
			dst = working(dst, next.view, next.view.state)
		}
	}
	return dst
}

// finish appends the rest of the children of a call that has ended, and lets go of them: of all, or
// of those of which only calls are shown.
func (f *feed) finish(dst []byte, id core.CallID, all bool) []byte {
	f.children = slices.DeleteFunc(f.children, func(c *child) bool {
		if c.call != id || !all && !c.partial() {
			return false
		}
		dst = f.weave(dst, c)
		cv := &View{Session: c.id, Parent: f.view.Session}
		if c.sess != nil {
			cv = c.sess.feed.view
		}
		if !c.partial() && cv.state.State != acp.SubagentIdle {
			dst = working(dst, cv, acp.SubagentState{State: acp.SubagentIdle})
		}
		f.release(c)
		return true
	})
	return dst
}

// follow has the pump serve the children that were announced.
func (f *feed) follow() {
	for _, c := range f.children {
		if !c.live && c.sess != nil {
			c.live = true
			f.sess.srv.pump.Add(c.sess.att, c.sess.feed.pos, c.sess.feed, nil)
		}
	}
}

// release lets go of a child.
func (f *feed) release(c *child) {
	if c.sess == nil {
		return
	}
	s := f.sess.srv
	s.pump.Remove(c.sess.feed)
	c.sess.feed.retire()
	s.mu.Lock()
	mine := s.children[c.sess.id] == c.sess
	if mine {
		delete(s.children, c.sess.id)
	}
	s.mu.Unlock()
	if mine { // else the connection has ended
		c.sess.att.Close()
	}
}

// parent returns the session of a child's parent on this connection; nil: it is no child, or the
// parent has left.
func (s *session) parent() *session {
	s.srv.mu.Lock()
	defer s.srv.mu.Unlock()
	return s.srv.sessions[s.att.Meta().Parent]
}

// passed notes a client's answer in a child that is no decision. The question is also put to the
// clients of the parent, where this one would not be asked, but waited for.
func (s *session) passed(a core.Ask, r core.Reply) {
	parent := s.parent()
	if parent == nil || r.Outcome == core.OutcomeDecided {
		return
	}
	r.Outcome = core.OutcomeDeclined
	s.srv.pump.Do(func() {
		f := s.srv.current(parent).feed
		for _, c := range f.children {
			if c.id == s.id {
				c.passed[core.CallID(string(s.id)+"/"+string(a.Call))] = r
			}
		}
		f.ask()
	})
}

// passOn gives the answer that the client has given in a child, and that was no decision, in the
// parent.
func (f *feed) passOn(a core.Ask) {
	for _, c := range f.children {
		if r, ok := c.passed[a.Call]; ok && a.About != nil {
			delete(c.passed, a.Call)
			f.sess.queue.Go(func() { f.sess.reply(a, r) })
		}
	}
}

// cancellable returns a session of this connection, or a child that is shown and can be cancelled; nil:
// it has neither.
func (s *Server) cancellable(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sess := s.sessions[core.SessionID(id)]; sess != nil {
		return sess
	}
	if c := s.children[core.SessionID(id)]; c != nil && c.cancels {
		return c
	}
	return nil
}

// shownAsChild reports whether a session is shown as that of a running task.
func (s *Server) shownAsChild(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.children[core.SessionID(id)]
	return c != nil && !c.observed
}

// working appends a change of what a child does, on its parent's session.
func working(dst []byte, child *View, now acp.SubagentState) []byte {
	child.state = now
	return appendUpdate(dst, &View{Session: child.Parent}, acp.SubagentUpdate{SessionUpdate: acp.UpdateSubagent, SessionID: string(child.Session), State: &now})
}

// activity appends what a child does after an event, if that is something else than before.
func activity(dst []byte, v *View, e core.Event) []byte {
	now := v.state
	switch e := any(e).(type) {
	case core.TurnStarted:
		now = acp.SubagentState{State: acp.SubagentRunning}
	case core.Asked:
		now = acp.SubagentState{State: acp.SubagentRequiresAction}
	case core.Answered:
		if len(v.asks) == 0 && now.State == acp.SubagentRequiresAction {
			now = acp.SubagentState{State: acp.SubagentRunning}
		}
	case core.TurnEnded:
		now = acp.SubagentState{State: acp.SubagentIdle, StopReason: acp.StopError}
		if res, err := Answer(e); err == nil {
			now.StopReason = res.StopReason
		}
	}
	if now == v.state {
		return dst
	}
	if v.history != nil { // only the last one is announced
		v.state = now
		return dst
	}
	return working(dst, v, now)
}

// tasked appends the message of a parent to its child.
func tasked(dst []byte, v *View, id core.MessageID) []byte {
	return update(dst, v, acp.SessionMessage{
		SessionUpdate: acp.UpdateSessionMessage, MessageID: string(id),
		SenderSessionID: string(v.Parent), RecipientSessionID: string(v.Session),
	})
}
