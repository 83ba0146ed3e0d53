package loop

import (
	"context"
	"slices"
	"strings"

	"dragoman/core"
)

// awaitServers waits for servers of tools that are starting, before the first request of a turn. It
// reports slower servers once; their tools join a later request.
func (c *conversation) awaitServers(ctx context.Context, t *core.Turn) error {
	slow, err := t.AwaitServers(ctx)
	if err != nil {
		return err
	}
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
