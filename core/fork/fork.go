package fork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"dragoman/core"
)

// Session makes a session that begins with the log of another one up to a position. If
// id is empty, it makes one. It blocks until the copy is durable. An agent that owns
// its history forks its own side as well, if it can, and only if it has added nothing
// after the position.
func Session(
	ctx context.Context,
	g *core.Gateway,
	from *core.Attachment,
	upto core.Pos,
	id core.SessionID,
) (*core.Session, error) {
	m := from.Meta()
	of := m.ID
	own, err := sideOf(ctx, g, from, upto)
	if err != nil {
		return nil, fmt.Errorf("fork session %s: %w", of, err)
	}
	m.ID, m.Parent, m.ParentAgent = id, "", "" // the copy is the user's own, even that of a sub-session
	m.From = core.Source{}                     // it is made from our log, and not from the agent's
	m.Forks++
	to, err := g.Create(ctx, m)
	if err != nil {
		return nil, err
	}
	err = to.Import(ctx, copies(ctx, from, upto), wentOn)
	if err == nil && own != nil {
		err = to.ForkSide(ctx, from, own)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fork session %s: %w", of, err), g.Delete(ctx, m.Principal, to.Meta().ID, core.Deletion{All: true}))
	}
	return to, nil
}

// wentOn is a fork's remark on a turn that it has only the beginning of.
const wentOn = "The original went on from here."

// copies yields the events of a session up to a position for the fork, with the ids of
// its messages and calls: no open asks, no Bound of a back end, no prompts that have
// not started. A remark ends a turn that had not ended.
func copies(ctx context.Context, from *core.Attachment, upto core.Pos) iter.Seq2[core.Event, error] {
	return func(yield func(core.Event, error) bool) {
		running := false
		for rec, err := range from.Records(ctx, core.Pos{}, upto) {
			ev, ok := rec.Before(upto)
			if err == nil && (!ok || !core.Forked(ev)) {
				continue
			}
			switch e := any(ev).(type) {
			case core.TurnStarted:
				e.Key = "" // it was sent to the other session
				ev, running = e, true
			case core.TurnEnded:
				running = false
			case core.Missing: // nothing is missing in the copy's own log
				ev = core.Notice{Severity: core.Warning, Text: e.Text}
			}
			if !yield(ev, err) {
				return
			}
		}
		if running {
			yield(core.Notice{Severity: core.Info, Text: wentOn}, nil)
		}
	}
}

// sideOf returns the published state (core.Bound) of the agent that has a side of the
// session to fork; nil: there is nothing to fork. The error is the reason why the
// session cannot be forked at a position.
func sideOf(
	ctx context.Context, g *core.Gateway, from *core.Attachment, upto core.Pos,
) (json.RawMessage, error) {
	if err := g.Can(ctx, from, core.CanFork); err != nil {
		return nil, err
	}
	st := from.State()
	if len(st.Bound.State) == 0 || g.Can(ctx, from, core.CanCompact) == nil {
		return nil, nil // the agent works from the log
	}
	for rec, err := range from.Records(ctx, upto, from.Head()) {
		if err != nil {
			return nil, err
		}
		if e, ok := rec.Event.(core.TurnStarted); ok && e.Turn != st.Turn {
			return nil, &core.UnsupportedError{Agent: st.Bound.Agent, What: core.CanRewind}
		}
	}
	return st.Bound.State, nil
}

// Title returns the title of a fork: that of its session, and its number
// (core.Meta.Forks).
func Title(title string, forks int) string {
	suffix := func(n int) string {
		if n == 1 {
			return " (fork)"
		}
		return fmt.Sprintf(" (fork %d)", n)
	}
	if forks > 1 {
		title = strings.TrimSuffix(title, suffix(forks-1))
	}
	return strings.TrimSpace(title + suffix(forks))
}
