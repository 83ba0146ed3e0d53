// Package asks puts the asks of a sub-session to the user of its parent.
//
// # What holds
//
//   - An open ask of the sub-session is put to the parent's user once, with all that it offers
//     there except AllowAlways. An approval is put as one about the sub-session's call
//     (core.Ask.About), which the log must have shown to be waiting.
//   - The answer is recorded in the sub-session as that of the client that gave it. If nobody
//     could be asked the sub-session gets the reason.
//   - What is settled in the sub-session is withdrawn at the parent. What a Relay has withdrawn
//     it does not settle in the sub-session.
package asks

import (
	"context"
	"sync"

	"dragoman/core"
)

// Relay puts what a sub-session asks to the user of its parent. One goroutine uses it.
type Relay struct {
	ask   func(context.Context, core.Ask) (core.Reply, error)
	child *core.Attachment
	agent string

	open  map[core.AskID]context.CancelFunc // asks that the parent's user has
	wg    sync.WaitGroup                    // goroutines that wait for their answers
	calls map[core.CallID]core.Call         // calls of the sub-session that have not ended
}

// NewRelay returns a Relay. ask is the parent's, of its core.Host or core.ToolHost. child is
// attached to the sub-session as a client that can be asked everything. agent is the name of the
// agent there.
func NewRelay(ask func(context.Context, core.Ask) (core.Reply, error), child *core.Attachment, agent string) *Relay {
	return &Relay{
		ask: ask, child: child, agent: agent,
		open:  map[core.AskID]context.CancelFunc{},
		calls: map[core.CallID]core.Call{},
	}
}

// Take takes the next records of the sub-session, beginning with the first of its log. It asks
// what is open there now, and withdraws what was settled there. It does not wait for answers. When
// ctx ends everything that it asked is withdrawn.
func (r *Relay) Take(ctx context.Context, recs []core.Record) {
	for _, rec := range recs {
		if e, ok := rec.Event.(core.CallChanged); ok {
			r.note(e.Call)
		}
	}
	waits := map[core.AskID]bool{}
	for _, a := range r.child.Pending() {
		waits[a.ID] = true
		c := r.calls[a.Call]
		if r.open[a.ID] != nil || a.Kind == core.AskApproval && c.State != core.Awaiting {
			continue // it is asked already, or will be when the reader reaches its call
		}
		ctx, withdraw := context.WithCancel(ctx)
		r.open[a.ID] = withdraw
		r.wg.Go(func() { r.settle(ctx, a, c) })
	}
	for id, withdraw := range r.open {
		if !waits[id] {
			withdraw()
			delete(r.open, id)
		}
	}
}

// Close withdraws everything that is open, and waits until that is done. Nothing settles the asks
// of the sub-session after that.
func (r *Relay) Close() {
	for _, withdraw := range r.open {
		withdraw()
	}
	r.wg.Wait()
}

// note keeps a call of the sub-session until it ends.
func (r *Relay) note(c core.Call) {
	if c.State.Ended() {
		delete(r.calls, c.ID)
		return
	}
	r.calls[c.ID] = c
}

// settle asks the parent's user and settles the sub-session's ask with the answer. c is the call
// of an approval.
func (r *Relay) settle(ctx context.Context, a core.Ask, c core.Call) {
	q := core.Ask{
		Kind: a.Kind, Text: a.Text, Options: a.Options, Freeform: a.Freeform,
		Later: a.Later, Deadline: a.Deadline, Remember: a.Remember,
		Hard: a.Hard, Person: a.Person, Secret: a.Secret, URL: a.URL,
	}
	if a.Kind == core.AskApproval {
		id := r.child.Meta().ID
		c.ID = core.CallID(string(id) + "/" + string(a.Call))
		c.Title, c.Child = r.agent+": "+c.Title, id
		q.Call, q.About = c.ID, &c
	}
	reply, err := r.ask(ctx, q)
	if ctx.Err() != nil {
		return // it was settled in the sub-session, or is withdrawn
	}
	switch {
	case err != nil:
		reply = core.Reply{Outcome: core.OutcomeAlone, Text: err.Error()}
	case reply.Outcome == core.OutcomeAlone && reply.Text == "":
		reply.Text = "no client is attached that could be asked"
	}
	_ = r.child.Relay(ctx, a.ID, reply) // another client may have settled it there
}
