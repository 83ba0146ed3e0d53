package delegate

import (
	"context"
	"strings"
	"sync"

	"dragoman/core"
)

// Task is work for an agent in a session of its own.
type Task struct {
	Agent  string // of the profile's Agents or Subagents
	Model  string // PROVIDER/MODEL; empty: that of the session
	Title  string
	Prompt []core.Block
	Origin core.Origin // of the delegating turn
	// Started is called when the session exists, before its turn begins; nil: no call.
	Started func(core.SessionID)
	// Follow is called with every record there, in order; nil: no call.
	Follow func(core.Record)
}

// Result is the outcome of a Task: the agent's last words.
type Result struct {
	Session core.SessionID
	Text    string
	Stop    core.StopReason
	Err     string // of StopError
}

// Run runs a task in a session of its own, whose parent is the host's, and blocks
// until its turn has ended; when ctx ends the turn is stopped. The new session has the
// settings of its parent except for the agent, and its turn has no more rights than
// the delegating turn.
func Run(ctx context.Context, h core.ToolHost, t Task) (Result, error) {
	child, set, err := h.Delegate(ctx, t.Origin.Caller)
	if err != nil {
		return Result{}, err
	}
	defer child.Close()
	d := &delegation{
		parent: h, child: child, task: t,
		relays: map[core.AskID]context.CancelFunc{},
		calls:  map[core.CallID]core.Call{},
	}
	return d.run(ctx, set)
}

// delegation is a running task. One goroutine uses its fields.
type delegation struct {
	parent core.ToolHost
	child  *core.Attachment
	task   Task

	relays map[core.AskID]context.CancelFunc // open questions to the parent's user
	wg     sync.WaitGroup                    // goroutines that wait for their answers
	calls  map[core.CallID]core.Call         // calls of the child that have not ended
	last   core.MessageID
	text   strings.Builder
}

func (d *delegation) run(ctx context.Context, set core.Settings) (Result, error) {
	out := Result{Session: d.child.Meta().ID}
	set.Agent = d.task.Agent
	if d.task.Model != "" {
		set.Model = d.task.Model
	}
	if d.task.Started != nil {
		d.task.Started(out.Session)
	}
	if d.task.Title != "" {
		if err := d.child.Rename(ctx, d.task.Title); err != nil {
			return out, err
		}
	}
	r := d.child.Read(core.Pos{})
	defer r.Close()
	// The prompt has a context of its own: if the parent's turn ends, for any reason,
	// the task's turn ends as cancelled.
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { cancel(core.ErrCanceled) })()
	id, err := d.child.Prompt(life, core.Prompt{
		Blocks:    d.task.Prompt,
		Hops:      d.task.Origin.Hops,
		Approvals: d.task.Origin.Approvals,
		Settings:  &set,
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

// follow reads until the turn has ended. A stopped turn ends soon.
func (d *delegation) follow(
	ctx context.Context, r *core.Reader, id core.TurnID,
) (core.StopReason, string, error) {
	for {
		recs, err := r.Next(context.WithoutCancel(ctx))
		if err != nil {
			return core.StopError, err.Error(), err
		}
		for _, rec := range recs {
			if d.task.Follow != nil {
				d.task.Follow(rec)
			}
			switch e := any(rec.Event).(type) {
			case core.CallChanged:
				d.note(e.Call)
			case core.TextDelta:
				if e.Message != d.last {
					d.last = e.Message
					d.text.Reset()
				}
				d.text.WriteString(e.Text)
			case core.TurnEnded:
				if e.Turn == id {
					return e.Stop, e.Err, nil
				}
			}
		}
		d.relay(ctx)
	}
}

// relay asks the parent's user the open questions of the child, and withdraws those
// that were settled there.
func (d *delegation) relay(ctx context.Context) {
	waits := map[core.AskID]bool{}
	for _, a := range d.child.Pending() {
		waits[a.ID] = true
		c := d.calls[a.Call]
		if d.relays[a.ID] != nil || a.Kind == core.AskApproval && c.State != core.Awaiting {
			continue // it is asked already, or will be when the reader reaches its call
		}
		ctx, withdraw := context.WithCancel(ctx)
		d.relays[a.ID] = withdraw
		d.wg.Go(func() { d.settle(ctx, a, c) })
	}
	for id, withdraw := range d.relays {
		if !waits[id] {
			withdraw()
			delete(d.relays, id)
		}
	}
}

// note keeps a call of the child until it ends.
func (d *delegation) note(c core.Call) {
	if c.State.Ended() {
		delete(d.calls, c.ID)
		return
	}
	d.calls[c.ID] = c
}

// settle asks the parent's user and settles the child's question with the answer. c is the call
// of an approval.
func (d *delegation) settle(ctx context.Context, a core.Ask, c core.Call) {
	q := core.Ask{
		Kind: a.Kind, Text: a.Text, Options: a.Options, Freeform: a.Freeform,
		Later: a.Later, Deadline: a.Deadline, Remember: a.Remember,
		Hard: a.Hard, Secret: a.Secret, URL: a.URL,
	}
	if a.Kind == core.AskApproval {
		id := d.child.Meta().ID
		c.ID = core.CallID(string(id) + "/" + string(a.Call))
		c.Title, c.Child = d.task.Agent+": "+c.Title, id
		q.Call, q.About = c.ID, &c
	}
	r, err := d.parent.Ask(ctx, q)
	if ctx.Err() != nil {
		return // it was settled in the child, or the task is being stopped
	}
	switch {
	case err != nil:
		r = core.Reply{Outcome: core.OutcomeAlone, Text: err.Error()}
	case r.Outcome == core.OutcomeAlone && r.Text == "":
		r.Text = "no client is attached that could be asked"
	}
	_ = d.child.Relay(ctx, a.ID, r) // another client may have settled it in the child
}
