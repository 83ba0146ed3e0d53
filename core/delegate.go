package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Delegate runs a task in a session of its own, whose parent this one is. It has
// the settings of this one but for the agent, and what its turn may do is narrowed
// as that of the turn which hands the task over.
func (h host) Delegate(ctx context.Context, t Task) (Delegated, error) {
	s := h.s
	if s.meta.Parent != "" {
		return Delegated{}, errors.New("delegate a task: an agent that works on a task cannot delegate another one")
	}
	child, err := s.g.Create(ctx, Meta{
		Principal: s.meta.Principal, Cwd: s.meta.Cwd, Roots: s.meta.Roots, Parent: s.meta.ID, ParentAgent: s.State().Settings.Agent,
	})
	if err != nil {
		return Delegated{}, fmt.Errorf("hand over a task: %w", err)
	}
	c := Client{Name: "session " + string(s.meta.ID), Principal: s.meta.Principal, Caller: t.Origin.Caller, Role: Decide, Asks: true, Questions: true, Profiles: s.connection()}
	if e := h.Editor(); e != nil {
		c.Editor = e.Lend(s.meta.ID)
	}
	d := &delegation{parent: h, child: child, task: t, relays: map[AskID]context.CancelFunc{}}
	d.att = child.Attach(c)
	defer d.att.Close()
	return d.run(ctx)
}

// delegation is a task on its way. One goroutine has its fields.
type delegation struct {
	parent host
	child  *Session
	att    *Attachment
	task   Task

	relays map[AskID]context.CancelFunc // questions that are put to the parent's user
	wg     sync.WaitGroup               // those who wait for their answers
	last   MessageID
	text   strings.Builder
}

func (d *delegation) run(ctx context.Context) (Delegated, error) {
	out := Delegated{Session: d.child.meta.ID}
	set := d.parent.s.State().Settings
	set.Agent = d.task.Agent
	if d.task.Model != "" {
		set.Model = d.task.Model
	}
	if d.task.Started != nil {
		d.task.Started(out.Session)
	}
	if d.task.Title != "" {
		if err := d.att.Rename(ctx, d.task.Title); err != nil {
			return out, err
		}
	}
	r := d.att.Read(Pos{})
	defer r.Close()
	// The prompt's life is its own: a parent's turn that ends for whatever reason
	// stops it as cancelled.
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { cancel(ErrCanceled) })()
	id, err := d.att.Prompt(life, Prompt{
		Blocks: d.task.Prompt, Hops: d.task.Origin.Hops, Approvals: d.task.Origin.Approvals, Settings: &set,
	})
	if err == nil {
		out.Stop, out.Err, err = d.follow(ctx, r, id)
	}
	for _, withdraw := range d.relays {
		withdraw()
	}
	d.wg.Wait()
	out.Text = d.text.String()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// follow reads until the turn has ended. A stopped one ends soon.
func (d *delegation) follow(ctx context.Context, r *Reader, id TurnID) (StopReason, string, error) {
	for {
		recs, err := r.Next(context.WithoutCancel(ctx))
		if err != nil {
			return StopError, err.Error(), err
		}
		for _, rec := range recs {
			if d.task.Follow != nil {
				d.task.Follow(rec)
			}
			switch e := any(rec.Event).(type) {
			case TextDelta:
				if e.Message != d.last {
					d.last = e.Message
					d.text.Reset()
				}
				d.text.WriteString(e.Text)
			case TurnEnded:
				if e.Turn == id {
					return e.Stop, e.Err, nil
				}
			}
		}
		d.relay(ctx)
	}
}

// relay puts to the parent's user what waits in the child, and withdraws what was
// settled there.
func (d *delegation) relay(ctx context.Context) {
	waits := map[AskID]bool{}
	for _, a := range d.att.Pending() {
		waits[a.ID] = true
		if d.relays[a.ID] != nil {
			continue
		}
		ctx, withdraw := context.WithCancel(ctx)
		d.relays[a.ID] = withdraw
		d.wg.Go(func() { d.settle(ctx, a) })
	}
	for id, withdraw := range d.relays {
		if !waits[id] {
			withdraw()
			delete(d.relays, id)
		}
	}
}

// settle asks the parent's user and settles the child's question with the answer.
func (d *delegation) settle(ctx context.Context, a Ask) {
	q := Ask{
		Kind: a.Kind, Text: a.Text, Options: a.Options, Freeform: a.Freeform, Later: a.Later, Deadline: a.Deadline, Remember: a.Remember,
		Hard: a.Hard, Secret: a.Secret, URL: a.URL,
	}
	if a.Kind == AskApproval {
		c := d.child.call(a.Call)
		c.ID = CallID(string(d.child.meta.ID) + "/" + string(a.Call))
		c.Title, c.Child = d.task.Agent+": "+c.Title, d.child.meta.ID
		q.Call, q.About = c.ID, &c
	}
	r, err := d.parent.Ask(ctx, q)
	if ctx.Err() != nil {
		return // it was settled in the child, or the task is being stopped
	}
	switch {
	case err != nil:
		r = Reply{Outcome: OutcomeAlone, Text: err.Error()}
	case r.Outcome == OutcomeAlone && r.Text == "":
		r.Text = "no client is attached that could be asked"
	}
	d.child.resolve(a.ID, r)
}

// call is a call that has not ended.
func (s *Session) call(id CallID) Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.calls[id]
}
