package ecaserver

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
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
	r := &relay{parent: c.host, child: held.Attach(core.Client{Name: "session " + string(c.meta.ID), Asks: true, Questions: true}), name: d.AgentName, calls: map[core.CallID]core.Call{}, asked: map[core.AskID]context.CancelFunc{}}
	c.talk.b.wg.Go(func() {
		ctx, cancel := context.WithCancel(p.life)
		defer cancel()
		c.talk.b.wg.Go(func() {
			defer cancel()
			select {
			case <-s.over:
			case <-ctx.Done():
			}
		})
		r.follow(ctx)
	})
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

// relay puts what a sub-session asks to the user of its parent. One goroutine uses it.
type relay struct {
	parent core.Host
	child  *core.Attachment
	name   string // of the sub-agent
	calls  map[core.CallID]core.Call
	asked  map[core.AskID]context.CancelFunc
	wg     sync.WaitGroup
}

// follow reads the sub-session until ctx ends.
func (r *relay) follow(ctx context.Context) {
	defer r.child.Close()
	defer r.wg.Wait()
	reader := r.child.Read(core.Pos{})
	for {
		recs, err := reader.Next(ctx)
		if err != nil {
			return
		}
		for _, rec := range recs {
			if e, ok := rec.Event.(core.CallChanged); ok {
				r.calls[e.Call.ID] = e.Call
			}
		}
		r.ask(ctx)
	}
}

// ask asks the parent's user what is open in the sub-session, and takes back what was settled there.
func (r *relay) ask(ctx context.Context) {
	waits := map[core.AskID]bool{}
	for _, a := range r.child.Pending() {
		waits[a.ID] = true
		c := r.calls[a.Call]
		if r.asked[a.ID] != nil || a.Kind == core.AskApproval && c.State != core.Awaiting {
			continue // it is asked already, or will be when the reader reaches its call
		}
		ctx, withdraw := context.WithCancel(ctx)
		r.asked[a.ID] = withdraw
		r.wg.Go(func() { r.settle(ctx, a, c) })
	}
	for id, withdraw := range r.asked {
		if !waits[id] {
			withdraw()
			delete(r.asked, id)
		}
	}
}

// settle asks the parent's user, and settles the sub-session's question with the answer. c is the call of an
// approval.
func (r *relay) settle(ctx context.Context, a core.Ask, c core.Call) {
	q := core.Ask{
		Kind: a.Kind, Text: a.Text, Options: a.Options, Freeform: a.Freeform, Deadline: a.Deadline, Remember: a.Remember, Hard: a.Hard,
		Secret: a.Secret, URL: a.URL,
	}
	if a.Kind == core.AskApproval {
		id := r.child.Meta().ID
		c.ID, c.Title, c.Child = core.CallID(string(id)+"/"+string(a.Call)), r.name+": "+c.Title, id
		q.Call, q.About = c.ID, &c
	}
	reply, err := r.parent.Ask(ctx, q)
	if ctx.Err() != nil {
		return // it was settled there, or the task is over
	}
	if err != nil {
		reply = core.Reply{Outcome: core.OutcomeAlone, Text: err.Error()}
	}
	_ = r.child.Relay(ctx, a.ID, reply) // another client may have settled it
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
