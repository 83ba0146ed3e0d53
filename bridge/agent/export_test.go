package agent

import (
	"context"
	"time"

	"dragoman/core"
)

// Hurry gives an agent less time for its answers.
func (b *Backend) Hurry(d time.Duration) { b.limits = limits{d, d, d, d, d} }

// Keep keeps the list of an agent.
func (h *History) Keep(ctx context.Context, agent string, list []Listed) error {
	return h.keep(ctx, agent, list)
}

// Own notes that an agent's session belongs to one of ours.
func (h *History) Own(ctx context.Context, agent, session string, id core.SessionID) error {
	return h.own(ctx, agent, session, id)
}
