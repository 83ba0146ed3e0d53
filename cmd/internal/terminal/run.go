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
}

// Run carries out one turn: the answer goes to standard output, everything else to standard
// error. Nobody can be asked anything, so what needs a person is refused at once. It returns nil
// only if the turn has ended by itself and nothing was refused.
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
		head = core.Pos{} // the events of a new session are printed from its first on
	}
	// The prompt outlives ctx, so that the turn's end is awaited.
	id, err := r.att.Prompt(context.WithoutCancel(ctx), core.Prompt{
		Blocks:   []core.Block{core.Text{Text: o.Prompt}},
		Settings: chosen(st.Settings, o.Settings),
	})
	if err != nil {
		return fmt.Errorf("the prompt was not taken: %w", err)
	}
	end, err := r.follow(ctx, id, head)
	if err != nil {
		return err
	}
	r.out.close(r.att.State(), r.refused)
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
	refused []core.Ask // the questions that nobody could be asked
	unread  error      // the reason why nothing more can be printed
}

// follow prints the log from a position on until a turn has ended. If ctx ends, or nothing can be
// printed any more, it stops the turn and waits for its end, for program.ShutdownFor at most.
func (r *run) follow(ctx context.Context, id core.TurnID, from core.Pos) (core.TurnEnded, error) {
	reader := r.att.Read(from)
	defer reader.Close()
	reading, done := ctx, func() {}
	defer func() { done() }()
	stop := func(why error) {
		if reading == ctx {
			reading, done = context.WithTimeoutCause(context.WithoutCancel(ctx), program.ShutdownFor, why)
			_ = r.att.Cancel(context.Background(), id, core.ErrCanceled) // it fails only for observers
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
		end := r.records(ctx, id, recs)
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

// records prints records, refuses the questions in them, and returns the end of the turn; nil: it
// has not ended.
func (r *run) records(ctx context.Context, id core.TurnID, recs []core.Record) (end *core.TurnEnded) {
	for _, rec := range recs {
		r.out.record(rec)
		switch e := any(rec.Event).(type) {
		case core.Asked:
			r.refuse(ctx, e.Ask)
		case core.TurnEnded:
			if e.Turn == id {
				end = &e
			}
		}
	}
	return end
}

// refuse settles a question without an answer.
func (r *run) refuse(ctx context.Context, a core.Ask) {
	why := core.Reply{Outcome: core.OutcomeAlone, Text: "dragoman run can ask nobody"}
	if r.att.Answer(context.WithoutCancel(ctx), a.ID, why) == nil { // otherwise it was withdrawn
		r.refused = append(r.refused, a)
	}
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
