package ecaserver

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/delegate/asks"
	"dragoman/core/display"
)

// maxSaid limits the text of a sub-agent that is kept for its call, in bytes.
const maxSaid = 16 << 10

// subagent is an agent to which the server has delegated a task. What it does is in a sub-session. What it
// asks, its parent's user is asked.
type subagent struct {
	chat *chat
	held *core.Attachment
	over chan struct{} // closed when it works no more
	end  func()        // closes over
}

// delegates makes the sub-session of a call that has delegated a task, once the server has named the chat.
func (c *chat) delegates(tc *call) {
	d := tc.details
	p := c.talk.program()
	if d.Type != eca.TypeSubagent || d.SubagentChatID == "" || tc.sub != nil || p == nil || c.importingNow() || p.chat(d.SubagentChatID) != nil {
		return
	}
	host, held, err := c.host.Sub(context.Background(), tc.is.Title)
	if err != nil {
		c.talk.notice(core.Warning, "the session of a sub-agent could not be kept: "+err.Error())
		return
	}
	s := &subagent{held: held, over: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.over) })
	s.chat = newChat(c.talk, d.SubagentChatID, host, held.Meta())
	s.chat.parent = c
	tc.sub = s
	tc.is.Child = held.Meta().ID
	c.emit(core.CallChanged{Call: tc.is})
	c.mu.Lock()
	c.subs[d.SubagentChatID] = s
	c.mu.Unlock()
	p.join(d.SubagentChatID, s.chat)
	parent := c.stage.Current()
	c.talk.b.wg.Go(func() { s.attend(p, parent) })
	asker := held.Attach(core.Client{Name: "session " + string(c.meta.ID), Asks: true, Questions: true})
	c.talk.b.wg.Go(func() { s.relay(p, c.host, asker, cmp.Or(display.Line(d.AgentName, 60), c.talk.b.o.Name)) })
}

// relay puts what the sub-session asks to the user of its parent while the sub-agent works. asker is
// attached to the sub-session, and closed at the end.
func (s *subagent) relay(p *peer, parent core.Host, asker *core.Attachment, name string) {
	defer asker.Close()
	ctx, cancel := context.WithCancel(p.life)
	defer cancel()
	p.b.wg.Go(func() {
		defer cancel()
		select {
		case <-s.over:
		case <-ctx.Done():
		}
	})
	r := asks.NewRelay(parent.Ask, asker, name)
	defer r.Close()
	reader := asker.Read(core.Pos{})
	defer reader.Close()
	for {
		recs, err := reader.Next(ctx)
		if err != nil {
			return
		}
		r.Take(ctx, recs)
	}
}

// attendEvery is the time between two looks at the turn of a sub-agent. It is shorter than the silence that
// ends such a turn.
const attendEvery = 250 * time.Millisecond

// attend keeps a turn open in the session of a sub-agent while it works and its parent's turn runs.
func (s *subagent) attend(p *peer, parent *core.Turn) {
	ticker := time.NewTicker(attendEvery)
	defer ticker.Stop()
	for parent != nil && parent.Emit(p.life) == nil {
		t := s.chat.stage.Current()
		if !s.chat.stage.Stopped() && (t == nil || t.Emit(p.life) != nil && !errors.Is(context.Cause(t.Context()), core.ErrCanceled)) {
			_ = s.chat.stage.Begin(t) // what it says has begun one, or the next look does
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

// delegated ends the sub-agent of a call that has ended.
func (c *chat) delegated(tc *call) {
	if tc.sub == nil {
		return
	}
	tc.sub.chat.over()
	tc.sub.end()
}

// endSubagents gives the sub-sessions back.
func (c *conversation) endSubagents() { c.root.endSubagents() }

func (c *chat) endSubagents() {
	c.mu.Lock()
	subs := c.subs
	c.subs = map[string]*subagent{}
	c.mu.Unlock()
	for _, s := range subs {
		s.end()
		s.chat.endSubagents()
		s.held.Leave()
	}
}
