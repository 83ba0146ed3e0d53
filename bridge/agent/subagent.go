package agent

import (
	"context"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// subagent is a sub-agent of the agent's own. What it does is in a sub-session, and its parent's
// log has a call that leads there. What it asks, its parent's user is asked.
type subagent struct {
	talk *conversation
	held *core.Attachment
	call core.Call
}

func (s *subagent) update(raw []byte) { s.talk.flow.take(raw) }

// subagent takes the announcement of a sub-agent, or a change of its state. It runs on the reading
// goroutine.
func (c *conversation) subagent(u acp.SubagentUpdate) {
	c.mu.Lock()
	sub, p := c.subs[u.SessionID], c.peer
	c.mu.Unlock()
	if sub == nil {
		if u.SessionID == "" || p == nil || c.repeats() {
			return
		}
		if sub = c.newSubagent(u); sub == nil {
			return
		}
		c.mu.Lock()
		c.subs[u.SessionID] = sub
		c.mu.Unlock()
		p.join(u.SessionID, route{c: c, sub: sub})
	} else if u.Title != "" && !sub.call.State.Ended() {
		sub.call.Title = u.Title
		c.emit(core.CallChanged{Call: sub.call})
	}
	if u.State != nil && u.State.State == acp.SubagentIdle && !sub.call.State.Ended() {
		sub.talk.flow.end()
		sub.call.State, sub.call.End = core.Succeeded, c.b.o.now()
		if u.State.StopReason == acp.StopError {
			sub.call.State = core.Errored
		}
		c.emit(core.CallChanged{Call: sub.call})
	}
}

// repeats reports whether updates repeat what was done before.
func (c *conversation) repeats() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.muted || c.importing != nil
}

// newSubagent makes the sub-session of a sub-agent; nil: it could not be made, and the agent goes on
// without.
func (c *conversation) newSubagent(u acp.SubagentUpdate) *subagent {
	title := u.Title
	if title == "" {
		title = "Sub-agent"
	}
	c.flow.pause()
	call := core.Call{
		ID: core.CallID(c.flow.newID("c")), Turn: c.current().ID(), Server: c.b.o.Name, Tool: "subagent", Title: title, Kind: core.KindThink,
		State: core.Proposed,
	}
	host, held, err := c.bind.Host.Sub(context.Background(), title)
	if err != nil {
		c.notice(core.Warning, "the session of a sub-agent could not be kept: "+err.Error())
		return nil
	}
	call.Child = held.Meta().ID
	c.emit(core.CallChanged{Call: call})
	call.State, call.Start = core.Running, c.b.o.now()
	c.emit(core.CallChanged{Call: call})
	talk := &conversation{
		b: c.b, parent: c, peer: c.program(), changed: make(chan struct{}), places: c.places, terminals: c.terminals,
		bind:   core.Binding{Meta: held.Meta(), Host: host, Offer: func([]core.Command) {}},
		grants: map[string]grant{}, subs: map[string]*subagent{},
	}
	talk.flow.c = talk
	return &subagent{talk: talk, held: held, call: call}
}

// endSubagents gives the sub-sessions back.
func (c *conversation) endSubagents() {
	c.mu.Lock()
	subs := c.subs
	c.subs = map[string]*subagent{}
	c.mu.Unlock()
	for _, s := range subs {
		s.held.Leave()
	}
}
