package agent

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// subagent is a sub-agent of the agent's own. What it does is in a sub-session, and its parent's
// log has a call that leads there. What it asks, its parent's user is asked.
type subagent struct {
	talk *conversation
	held *core.Attachment
	call core.Call
	over chan struct{} // closed when it works no more
	end  func()        // closes over
}

// maxSaid limits the text of a sub-agent that its call shows as its result, in bytes.
const maxSaid = 16 << 10

func (s *subagent) update(raw []byte) { s.talk.flow.take(raw) }

// subagent takes the announcement of a sub-agent, or a change of its state. It runs on the reading
// goroutine.
func (c *conversation) subagent(u acp.SubagentUpdate) {
	if in := c.imports(); in != nil {
		c.past(in, u)
		return
	}
	c.mu.Lock()
	sub, p := c.subs[u.SessionID], c.peer
	c.mu.Unlock()
	if sub == nil {
		if u.SessionID == "" || p == nil || c.stage.Muted() {
			return
		}
		if sub = c.newSubagent(u); sub == nil {
			return
		}
		c.mu.Lock()
		c.subs[u.SessionID] = sub
		c.mu.Unlock()
		p.join(u.SessionID, route{c: c, sub: sub})
		parent := c.stage.Current()
		c.b.wg.Go(func() { sub.attend(p, parent) })
	} else if sub.describe(u) && !sub.call.State.Ended() {
		c.stage.Emit(core.CallChanged{Call: sub.call})
	}
	if ends(u) && !sub.call.State.Ended() {
		sub.talk.flow.end()
		sub.talk.stage.Resume() // what it says from here on is shown
		sub.end()
		if said := sub.talk.flow.said; said != "" {
			sub.call.Content = []core.Block{core.Text{Text: said}}
		}
		sub.call.State, sub.call.End = stateOf(u), c.b.o.Time()
		c.stage.Emit(core.CallChanged{Call: sub.call})
	}
}

// ends reports whether a sub-agent works no more.
func ends(u acp.SubagentUpdate) bool { return u.State != nil && u.State.State == acp.SubagentIdle }

// stateOf returns the state of the call of a sub-agent that works no more.
func stateOf(u acp.SubagentUpdate) core.CallState {
	switch u.State.StopReason {
	case acp.StopError:
		return core.Errored
	case acp.StopCancelled:
		return core.Canceled
	case acp.StopEndTurn, acp.StopMaxTokens, acp.StopMaxTurns, acp.StopRefusal:
	}
	return core.Succeeded
}

// about holds what the agent has announced of a sub-agent. It is the arguments of the sub-agent's call.
type about struct {
	Name         string                    `json:"name,omitempty"`
	Description  string                    `json:"description,omitempty"`
	Capabilities *acp.SubagentCapabilities `json:"capabilities,omitempty"`
}

// describe takes what an update says about a sub-agent, and reports whether that is new.
func (s *subagent) describe(u acp.SubagentUpdate) bool {
	was := s.call
	s.call = announced(was, u)
	if u.Capabilities != nil {
		s.talk.mu.Lock()
		s.talk.cancels = u.Capabilities.Cancel != nil
		s.talk.mu.Unlock()
	}
	return s.call.Title != was.Title || string(s.call.Args) != string(was.Args)
}

// announced returns the call of a sub-agent with what an update says about it. Absent members stay.
func announced(call core.Call, u acp.SubagentUpdate) core.Call {
	var is about
	_ = json.Unmarshal(call.Args, &is) // nothing was announced yet
	if u.Title != "" {
		call.Title, is.Name = u.Title, u.Title
	}
	if u.Description != "" {
		is.Description = u.Description
	}
	if u.Capabilities != nil {
		is.Capabilities = u.Capabilities
	}
	call.Args = wire.JSON(is)
	return call
}

// newCall returns the call of a sub-agent.
func (c *conversation) newCall(u acp.SubagentUpdate) core.Call {
	return announced(core.Call{
		ID: core.CallID(c.flow.newID("c")), Turn: c.stage.Current().ID(), Server: c.b.o.Name, Tool: "subagent", Title: "Sub-agent", Kind: core.KindThink,
		State: core.Proposed,
	}, u)
}

// past takes what an imported history has of a sub-agent: its call. Its session is not imported.
func (c *conversation) past(in *importing, u acp.SubagentUpdate) {
	call, known := in.subs[u.SessionID]
	if !known {
		c.flow.pause()
		call = c.newCall(u)
		in.add(core.CallChanged{Call: call})
	}
	if call.State.Ended() {
		return
	}
	call = announced(call, u)
	call.State = core.Running
	in.add(core.CallChanged{Call: call})
	if ends(u) {
		call.State = stateOf(u)
		in.add(core.CallChanged{Call: call})
	}
	in.subs[u.SessionID] = call
}

// newSubagent makes the sub-session of a sub-agent; nil: it could not be made, and the agent goes on
// without.
func (c *conversation) newSubagent(u acp.SubagentUpdate) *subagent {
	c.flow.pause()
	s := &subagent{call: c.newCall(u), over: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.over) })
	host, held, err := c.bind.Host.Sub(context.Background(), s.call.Title)
	if err != nil {
		c.notice(core.Warning, "the session of a sub-agent could not be kept: "+err.Error())
		return nil
	}
	s.held, s.call.Child = held, held.Meta().ID
	c.stage.Emit(core.CallChanged{Call: s.call})
	s.call.State, s.call.Start = core.Running, c.b.o.Time()
	c.stage.Emit(core.CallChanged{Call: s.call})
	s.talk = &conversation{
		b: c.b, parent: c, peer: c.program(), session: u.SessionID, places: c.places, terminals: c.terminals,
		bind:   core.Binding{Meta: held.Meta(), Host: host, Offer: func([]core.Command) {}},
		grants: map[string]grant{}, subs: map[string]*subagent{},
	}
	s.talk.flow.c, s.talk.stage = s.talk, s.talk.newStage()
	s.describe(u)
	return s
}

// attendEvery is the time between two looks at the turn of a sub-agent. It is shorter than the silence
// that ends such a turn.
const attendEvery = 250 * time.Millisecond

// attend keeps a turn open in the session of a sub-agent while it works and its parent's turn runs, so
// that the user can stop it.
func (s *subagent) attend(p *peer, parent *core.Turn) {
	ticker := time.NewTicker(attendEvery)
	defer ticker.Stop()
	for parent != nil && parent.Emit(p.life) == nil {
		t := s.talk.stage.Current()
		switch {
		case s.talk.stage.Stopped():
		case t == nil, t.Emit(p.life) != nil && (!s.talk.cancellable() || !errors.Is(context.Cause(t.Context()), core.ErrCanceled)):
			_ = s.talk.stage.Begin(t) // what it says has begun one, or the next look does
		}
		select {
		case <-ticker.C:
		case <-s.over:
			return
		case <-p.gone:
			return
		}
	}
}

// stopSubagent has the agent stop a sub-agent, if it takes that. Otherwise the sub-agent works on.
func (c *conversation) stopSubagent() {
	c.mu.Lock()
	p, session, cancels := c.peer, c.session, c.cancels
	c.mu.Unlock()
	if cancels && p != nil {
		_ = p.conn.Notify("session/cancel", acp.SessionID{SessionID: session}) // a program that has ended needs none
	}
}

// cancellable reports whether a sub-agent can be cancelled.
func (c *conversation) cancellable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancels
}

// ours returns the id of the session that one of the agent's is here; "": it is none that we know.
func (c *conversation) ours(session string) core.SessionID {
	for at := c; at != nil; at = at.parent {
		at.mu.Lock()
		own, sub := at.session, at.subs[session]
		at.mu.Unlock()
		switch {
		case session == own:
			return at.bind.Meta.ID
		case sub != nil:
			return sub.held.Meta().ID
		}
	}
	return ""
}

// letter passes a message between the sessions of sub-agents on, with our ids.
func (f *flow) letter(raw json.RawMessage) {
	var u acp.SessionMessage
	if wire.Unmarshal(raw, &u) != nil {
		return
	}
	if u.MessageID != f.letters.theirs || f.letters.ours == "" {
		f.letters.theirs, f.letters.ours = u.MessageID, f.newMessage()
	}
	edits := []wire.Member{wire.Set("messageId", wire.JSON(f.letters.ours))}
	for name, session := range map[string]string{"senderSessionId": u.SenderSessionID, "recipientSessionId": u.RecipientSessionID} {
		if session == "" {
			continue
		}
		var id json.RawMessage // of a session that the client does not know nothing is left
		if ours := f.c.ours(session); ours != "" {
			id = wire.JSON(ours)
		}
		edits = append(edits, wire.Set(name, id))
	}
	f.foreign(wire.Edit(raw, edits...), "")
}

// endSubagents gives the sub-sessions back.
func (c *conversation) endSubagents() {
	c.mu.Lock()
	subs := c.subs
	c.subs = map[string]*subagent{}
	c.mu.Unlock()
	for _, s := range subs {
		s.end()
		s.talk.endSubagents()
		s.held.Leave()
	}
}
