package serve

import (
	"context"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/company"
)

// present names the other clients of a client's session.
func (g *connection) present(a *core.Attachment) []string {
	return company.Names(board.Clients(g.profiles.Board(), a.Meta().Principal, a.Meta().ID), a.Client().ID)
}

// presentChanges calls changed after the clients of a session have changed, until ctx ends.
func (g *connection) presentChanges(ctx context.Context, changed func()) {
	at := uint64(0)
	for view := g.profiles.Board(); ; {
		list, next, err := view.Next(ctx, at)
		if err != nil {
			return
		}
		at = next
		for _, p := range list {
			if p.Topic.Kind == "present" {
				changed()
				break
			}
		}
	}
}
