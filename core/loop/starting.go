package loop

import (
	"context"
	"slices"
	"strings"
	"time"

	"dragoman/core"
)

// silentWait is the part of a wait for servers that is not shown.
const silentWait = 300 * time.Millisecond

// awaitServers waits a little for servers of tools that are starting, before the first request of a
// turn. It shows the wait, and reports slower servers once; their tools join a later request.
func (c *conversation) awaitServers(ctx context.Context, t *core.Turn) error {
	servers := starters(t.Starters())
	brief, enough := context.WithTimeout(ctx, silentWait)
	servers.await(brief)
	waits := brief.Err() != nil // otherwise all have had their time
	enough()
	if names := servers.starting(); waits && len(names) > 0 {
		p := core.Phase{Turn: t.ID(), Kind: core.PhaseStarting, Tool: strings.Join(names, ", ")}
		if err := t.Emit(ctx, p); err != nil {
			return err
		}
	}
	servers.await(ctx)
	slow := servers.starting()
	news := slices.DeleteFunc(
		slices.Clone(slow),
		func(name string) bool { return slices.Contains(c.slow, name) },
	)
	if c.slow = slow; len(news) == 0 {
		return ctx.Err()
	}
	return t.Emit(ctx, core.Notice{
		Severity: core.Info,
		Text: "MCP servers that are still starting: " + strings.Join(news, ", ") +
			". The agent goes on, and gets their tools as soon as they run.",
	})
}

type starters []core.Starter

// starting names the servers that are starting and whose tools are not known yet.
func (all starters) starting() (names []string) {
	for _, s := range all {
		names = append(names, s.Starting()...)
	}
	return names
}

func (all starters) await(ctx context.Context) {
	for _, s := range all {
		s.Await(ctx)
	}
}
