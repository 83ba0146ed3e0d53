package workspace

import (
	"context"
	"errors"

	"dragoman/core"
)

// Rollback reverts the part of a session after a position: the messages (messages), and the changes
// of files by calls there and in their sub-sessions (files). It is refused while a turn runs, and
// blocks until it is durable. The outcome for each file is returned, and recorded as
// core.Reverted.
func Rollback(
	ctx context.Context,
	g *core.Gateway,
	a *core.Attachment,
	after core.Pos,
	messages, files bool,
) ([]core.RevertedFile, error) {
	if err := a.Idle(); err != nil {
		return nil, err
	}
	var changes []core.Diff
	var in Files
	if files { // before anything is hidden
		var err error
		if changes, err = changesBehind(ctx, g, a, after); err != nil {
			return nil, err
		}
	}
	if len(changes) > 0 {
		prof, err := g.ProfileOf(ctx, a)
		if err != nil {
			return nil, err
		}
		if in = Of(prof).Files; in == nil {
			return nil, errors.New("undo changes of files: there are no tools for files here")
		}
	}
	if messages {
		if err := a.Truncate(ctx, after); err != nil {
			return nil, err
		}
	}
	if len(changes) == 0 {
		return nil, nil
	}
	undone := in.Undo(ctx, a.Meta(), a.Editor(), changes)
	return undone, a.Reverted(context.WithoutCancel(ctx), undone)
}

// changesBehind lists the changes of files that calls behind a position made, in their order. Only
// those of our own tools count, and none that came with the file of a session: a server or a file could
// claim any change, and undoing that would write whatever it likes.
func changesBehind(
	ctx context.Context,
	g *core.Gateway,
	a *core.Attachment,
	after core.Pos,
) (list []core.Diff, err error) {
	for rec, err := range a.Records(ctx, after, a.Head()) {
		if err != nil {
			return list, err
		}
		c, ok := rec.Event.(core.CallChanged)
		if !ok || !c.Call.State.Ended() {
			continue
		}
		if c.Call.Child != "" {
			inner, err := changesOf(ctx, g, a.Meta(), c.Call.Child)
			if err != nil {
				return list, err
			}
			list = append(list, inner...)
		}
		for _, b := range c.Call.Content {
			if d, ok := b.(core.Diff); ok && !d.Shown && c.Call.State == core.Succeeded && c.Call.Server == core.Native {
				list = append(list, d)
			}
		}
	}
	return list, nil
}

// changesOf lists the changes in a sub-session; none if it was deleted, or is not one of parent.
func changesOf(ctx context.Context, g *core.Gateway, parent core.Meta, id core.SessionID) ([]core.Diff, error) {
	child, err := g.Open(ctx, parent.Principal, id)
	if errors.Is(err, core.ErrNotFound) || err == nil && child.Meta().Parent != parent.ID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a := child.Attach(core.Client{Name: "session " + string(parent.ID), Role: core.Observe})
	defer a.Close()
	return changesBehind(ctx, g, a, core.Pos{})
}
