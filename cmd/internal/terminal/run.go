package terminal

import (
	"context"
	"fmt"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
	"dragoman/core"
)

// RunOptions describe a single turn.
type RunOptions struct {
	Program   *program.Environment
	Principal core.Principal // of the person who has started it
	Profiles  core.Profiles  // of the turn
	Session   *core.Session
	Settings  core.Settings // empty fields keep the session's values
	Prompt    string
	JSON      bool // print the events instead of the answer
	// NeedsServers has the turn fail if an MCP server has not started.
	NeedsServers bool
	// Hosts reports whether turns of the session run in this process, and end with it; nil: they do not.
	Hosts func(core.SessionID) bool
}

// Run carries out one turn: the answer goes to standard output, everything else to standard
// error. Nobody can be asked anything, so what needs a person is refused at once. It returns nil
// only if the turn has ended by itself and nothing was refused. Turns of other clients are not its own:
// it prints nothing of them and answers none of their questions. It leaves when the process runs no
// turn of theirs.
func Run(ctx context.Context, o RunOptions) error {
	r := &run{
		att: o.Session.Attach(core.Client{
			Name: "dragoman run", Principal: o.Principal, Profiles: o.Profiles, Asks: true, Questions: true,
		}),
		out: newRunOutput(o.Program, o.JSON),
	}
	defer r.att.Close()
	st, head := r.att.State(), r.att.Head()
	if st.Messages == 0 {
		head, r.fresh = core.Pos{}, true // the events of a new session are printed from its first on
	}
	// The prompt outlives ctx, so that the turn's end is awaited.
	id, err := r.att.Prompt(context.WithoutCancel(ctx), core.Prompt{
		Blocks:     []core.Block{core.Text{Text: o.Prompt}},
		Settings:   chosen(st.Settings, o.Settings),
		Unattended: true, NeedsServers: o.NeedsServers, Last: true,
	})
	if err != nil {
		return fmt.Errorf("the prompt was not taken: %w", err)
	}
	r.turn = id
	reader := r.att.Read(head)
	defer reader.Close()
	end, err := r.follow(ctx, reader)
	if err != nil {
		return err
	}
	r.out.close(r.att.State(), r.refused)
	if o.Hosts != nil && o.Hosts(o.Session.Meta().ID) {
		r.stay(ctx, reader)
	}
	return r.result(ctx, end)
}

// chosen returns the settings of a session with those of the command line; nil: nothing changes.
func chosen(now, wanted core.Settings) *core.Settings {
	set := now
	if wanted.Model != "" {
		set.Model = wanted.Model
	}
	if wanted.Agent != "" {
		set.Agent = wanted.Agent
	}
	if set == now {
		return nil
	}
	return &set
}

// run is a turn of a person who cannot be asked.
type run struct {
	att     *core.Attachment
	out     *runOutput
	turn    core.TurnID
	fresh   bool       // the session is new: what precedes the turn belongs to it
	runs    bool       // the turn has started, and has not ended
	refused []core.Ask // the questions that nobody could be asked
	unread  error      // the reason why nothing more can be printed
}

// follow prints the turn until it has ended. If ctx ends, or nothing can be printed any more, it stops the
// turn and waits for its end, for program.ShutdownFor at most.
func (r *run) follow(ctx context.Context, reader *core.Reader) (core.TurnEnded, error) {
	reading, done := ctx, func() {}
	defer func() { done() }()
	stop := func(why error) {
		if reading == ctx {
			reading, done = context.WithTimeoutCause(context.WithoutCancel(ctx), program.ShutdownFor, why)
			_ = r.att.Cancel(context.Background(), r.turn, core.ErrCanceled) // it fails only for observers
		}
	}
	for {
		recs, err := reader.Next(reading)
		if err != nil && reading == ctx && ctx.Err() != nil {
			stop(stopped(ctx))
			continue
		}
		if err != nil {
			return core.TurnEnded{}, err
		}
		end := r.records(recs)
		if err := r.out.flush(); err != nil && r.unread == nil {
			r.unread = err
			stop(unread(err))
		}
		if end != nil {
			return *end, nil
		}
	}
}

// unread returns the error of a run whose answer cannot be printed any more.
func unread(err error) error {
	if wire.PeerLeft(err) {
		return program.ExitError(program.ExitUnread)
	}
	return fmt.Errorf("print the answer: %w", err)
}

// stay waits until no turn runs in the session, or ctx ends: this process would end the turn.
func (r *run) stay(ctx context.Context, reader *core.Reader) {
	for r.att.State().Turn != "" {
		if _, err := reader.Next(ctx); err != nil {
			return
		}
	}
}

// records prints the records of the turn, notes the questions in them, which were refused, and returns the
// turn's end; nil: it has not ended.
func (r *run) records(recs []core.Record) *core.TurnEnded {
	for _, rec := range recs {
		if !r.owns(rec.Event) {
			continue
		}
		r.out.record(rec)
		switch e := any(rec.Event).(type) {
		case core.Asked:
			r.refused = append(r.refused, e.Ask)
		case core.TurnEnded:
			return &e
		}
	}
	return nil
}

// owns reports whether an event belongs to the turn: it names the turn, or stands between its beginning
// and its end and names no other one. Turns of a session run one after the other.
func (r *run) owns(ev core.Event) bool {
	id, named := turnOf(ev)
	if named && id != r.turn {
		return false
	}
	switch any(ev).(type) {
	case core.TurnStarted:
		r.runs, r.fresh = true, false
	case core.TurnEnded:
		r.runs = false
		return true
	}
	return named || r.runs || r.fresh
}

// turnOf returns the turn that an event names; ok is false if it names none.
func turnOf(ev core.Event) (id core.TurnID, ok bool) {
	switch e := any(ev).(type) {
	case core.PromptQueued:
		id = e.Turn
	case core.TurnStarted:
		id = e.Turn
	case core.Steered:
		id = e.Turn
	case core.TurnEnded:
		id = e.Turn
	case core.Phase:
		id = e.Turn
	case core.UsageChanged:
		id = e.Turn
	case core.Asked:
		id = e.Ask.Turn
	}
	return id, id != ""
}

// result returns the error that stands for the outcome of the turn.
func (r *run) result(ctx context.Context, end core.TurnEnded) error {
	switch {
	case r.unread != nil:
		return unread(r.unread)
	case end.Stop == core.StopCanceled && ctx.Err() != nil:
		return stopped(ctx)
	}
	switch end.Stop {
	case core.StopEnd:
		if len(r.refused) > 0 {
			return program.ExitError(program.ExitRefused)
		}
		return nil
	case core.StopTokens, core.StopRequests, core.StopLimit, core.StopRefusal:
		return program.ExitError(program.ExitLimit)
	case core.StopCanceled, core.StopError, core.StopInterrupted:
	}
	return program.ErrReported
}
