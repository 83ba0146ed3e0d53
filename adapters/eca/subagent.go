package eca

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"go.uber.org/zap"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/pump"
	"dragoman/core"
)

// A task that is delegated to another agent runs in a session of its own, the child. Clients show
// it within the call that delegated the task, under the child's chat id, which that call's
// details name first. So a running call's child is read together with its chat, and its approvals
// are decided there. For a client whose document has no children, an approval of the child is
// shown as a call.

// spawnTool is the name of our tool that delegates a task.
const spawnTool = "spawn_agent"

// childChat returns the chat id of a child for clients.
func childChat(id core.SessionID) core.SessionID {
	if strings.HasPrefix(string(id), subagents) {
		return id
	}
	return subagents + id
}

// under turns the view into that of a child of a chat.
func (v *View) under(parent core.SessionID) {
	v.parent = string(parent)
	v.heads()
}

// within returns the id of a call or a thought for clients. They keep all ids of a chat and its
// children in one place, and each session counts its own from the beginning.
func within(chat core.SessionID, id string) string {
	return strings.TrimPrefix(string(chat), subagents) + "/" + id
}

// renamed returns an event of a child with the ids that clients know.
func (v *View) renamed(ev core.Event) core.Event {
	chat := core.SessionID(v.chat)
	switch e := any(ev).(type) {
	case core.CallChanged:
		e.Call.ID = core.CallID(within(chat, string(e.Call.ID)))
		return e
	case core.CallArgs:
		e.Call = core.CallID(within(chat, string(e.Call)))
		return e
	case core.Asked:
		if e.Ask.Call != "" {
			e.Ask.Call = core.CallID(within(chat, string(e.Ask.Call)))
		}
		return e
	case core.ThoughtStarted:
		e.Thought = core.ThoughtID(within(chat, string(e.Thought)))
		return e
	case core.ThoughtDelta:
		e.Thought = core.ThoughtID(within(chat, string(e.Thought)))
		return e
	case core.ThoughtEnded:
		e.Thought = core.ThoughtID(within(chat, string(e.Thought)))
		return e
	case core.TurnStarted:
		e.Message = "" // a client cannot go back to it
		return e
	case core.Steered:
		e.Message = ""
		return e
	}
	return ev
}

// subagent returns the details of a call that delegates a task; nil for other calls.
func (v *View) subagent(now core.Call) *eca.Subagent {
	if v.lacks[eca.TypeSubagent] || now.Child == "" && (now.Server != core.Native || now.Tool != spawnTool) {
		return nil
	}
	var args struct {
		Agent     string `json:"agent"`
		AgentName string `json:"agent_name"`
		Name      string `json:"name"`
		Model     string `json:"model"`
	}
	var meta struct {
		Step     int    `json:"step"`
		MaxSteps int    `json:"max_steps"`
		Model    string `json:"model"`
	}
	_ = json.Unmarshal(now.Args, &args) // a model wrote them: a missing member is empty
	_ = json.Unmarshal(now.Meta, &meta)
	model, variant := v.offer.OfTask(v.state, args.Agent, cmp.Or(meta.Model, args.Model))
	d := &eca.Subagent{
		Type: eca.TypeSubagent, AgentName: cmp.Or(args.Agent, args.AgentName, args.Name, "subagent"), Model: model,
		Variant: variant, MaxSteps: max(meta.MaxSteps, 0), Step: max(meta.Step, 0),
	}
	if now.Child != "" {
		d.SubagentChatID = string(childChat(now.Child))
	}
	return d
}

// progressed reports whether a running call must be shown again: its child has appeared or made
// progress.
func (v *View) progressed(c *call) bool {
	d := v.subagent(c.now)
	if d == nil || d.SubagentChatID == "" || c.child != nil && (*c.child == *d || !v.live) {
		return false // a history names the child only once
	}
	c.child = d
	return true
}

// asked shows a request for approval: of a call, or of a child's call whose chat the client does
// not have.
func (v *View) asked(dst []byte, a core.Ask) []byte {
	v.asks[a.ID] = a
	switch {
	case a.Kind != core.AskApproval:
		return dst // a request to the client shows it
	case a.About == nil:
		if c := v.calls[a.Call]; c != nil && c.now.State == core.Awaiting {
			return v.awaiting(dst, c, a)
		}
		return dst
	case v.shows(a.About.Child):
		return dst // the child's call shows it
	}
	now := *a.About
	now.ID, now.State, now.Child = a.Call, core.Awaiting, ""
	c := &call{n: v.began, now: now, about: true}
	v.began++
	v.calls[now.ID] = c
	return v.awaiting(dst, c, a)
}

// shows reports whether the client knows a child, and so gets its content.
func (v *View) shows(child core.SessionID) bool {
	if v.lacks[eca.TypeSubagent] {
		return false
	}
	for _, c := range v.calls {
		if c.now.Child == child && c.child != nil {
			return true
		}
	}
	return false
}

// decided ends a child's call that was shown only for its approval.
func (v *View) decided(dst []byte, c *call, r core.Reply) []byte {
	delete(v.calls, c.now.ID)
	dst = v.prepare(dst, c)
	if r.Outcome == core.OutcomeDecided && r.Decision.Allows() {
		c.now.State, c.now.Content = core.Succeeded, []core.Block{
			core.Text{Text: "It may run. The agent that asked continues with it."},
		}
		return v.called(dst, c)
	}
	c.now.State = core.Rejected
	switch r.Outcome {
	case core.OutcomeDecided:
		return v.rejected(dst, c, eca.RejectUser)
	case core.OutcomeCanceled:
		return v.rejected(dst, c, eca.RejectStop)
	case core.OutcomeAnswered, core.OutcomeDeclined, core.OutcomeLater, core.OutcomeExpired, core.OutcomeAlone:
	}
	return v.rejected(dst, c, eca.RejectConfig)
}

// adopt serves the child of a running call from the child's beginning. It belongs to the pump.
func (f *feed) adopt(id core.CallID, child core.SessionID) {
	s := f.chat.srv
	if f.gone || f.children[id] != nil || child == "" || f.view.lacks[eca.TypeSubagent] {
		return
	}
	s.within(func(ctx context.Context) {
		sess, err := s.opts.Gateway.Open(ctx, s.opts.Principal, child)
		if err != nil || sess.Meta().Parent != f.chat.id {
			s.log.Warn("the session of a task cannot be shown", zap.String("session", string(child)), zap.Error(err))
			return
		}
		c := s.newChat(childChat(child))
		c.child = true
		who := s.client(sess.Meta().Roots)
		who.Questions, who.Editor = false, nil // its parent's session asks, and provides its editor
		att := sess.Attach(who)
		c.att.Store(att)
		next := c.newFeed(att, f.view.offer, false)
		next.view.under(f.chat.id)
		next.view.begins()
		next.view.state.Settings = att.State().Settings
		c.feed = next
		if f.children == nil {
			f.children = map[core.CallID]*chat{}
		}
		f.children[id] = c
		s.mu.Lock()
		s.chats[c.id] = c // its approvals are decided under that id
		s.mu.Unlock()
		s.pump.Add(att, core.Pos{}, next, nil)
	})
}

// adoptAll adopts the children of all running calls, after a history.
func (f *feed) adoptAll() {
	for id, c := range f.view.calls {
		if c.now.State == core.Running {
			f.adopt(id, c.now.Child)
		}
	}
}

// weave appends the rest of a call's child before the call's end: clients let go of a child
// there, and so does the feed.
func (f *feed) weave(dst []byte, id core.CallID) []byte {
	c := f.children[id]
	if c == nil {
		return dst
	}
	if child := c.feed; child != nil && !child.gone {
		f.chat.srv.within(func(ctx context.Context) {
			for rec, err := range child.att.Records(ctx, child.pos, child.att.Head()) {
				if err != nil {
					return
				}
				dst = encode(dst, child.view, rec)
			}
		})
	}
	f.release(id)
	return dst
}

// release lets go of a call's child.
func (f *feed) release(id core.CallID) {
	c, s := f.children[id], f.chat.srv
	delete(f.children, id)
	if c.feed != nil {
		c.feed.retire()
		c.feed = nil
	}
	s.mu.Lock()
	delete(s.chats, c.id)
	s.mu.Unlock()
	if att := c.att.Swap(nil); att != nil {
		att.Close()
	}
}

// leave withdraws everything that an ending feed has open at the client: the feed that replaces
// it begins from scratch.
func (f *feed) leave() {
	f.unask()
	for id := range f.children {
		f.release(id)
	}
}

// newChat creates a chat that is not known to others yet.
func (s *Server) newChat(id core.SessionID) *chat {
	return &chat{
		srv: s, id: id, queue: pump.NewQueue(&s.wg), company: &pump.Company{},
		answers: map[core.TurnID]func(){}, held: map[core.TurnID]func(){}, running: map[*pendingPrompt]struct{}{},
	}
}
