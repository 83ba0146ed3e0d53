package delegate

import (
	"context"
	"strings"

	"dragoman/core"
	"dragoman/core/delegate/asks"
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
	d := &delegation{child: child, task: t, relay: asks.NewRelay(h.Ask, child, t.Agent)}
	return d.run(ctx, set)
}

// delegation is a running task. One goroutine uses its fields.
type delegation struct {
	child *core.Attachment
	task  Task
	relay *asks.Relay // to the parent's user
	last  core.MessageID
	text  strings.Builder
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
	d.relay.Close()
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
		d.relay.Take(ctx, recs)
	}
}
