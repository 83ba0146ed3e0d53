package setup

import (
	"context"

	"dragoman/core"
)

// telling is a back end whose conversations tell their user, once, that the
// configuration has become wrong and the one before it goes on.
type telling struct {
	core.Backend
	fault func() string
}

// Open implements core.Backend.
func (b *telling) Open(ctx context.Context, binding core.Binding) (core.Conversation, error) {
	conv, err := b.Backend.Open(ctx, binding)
	if err != nil {
		return nil, err
	}
	return &told{Conversation: conv, fault: b.fault}, nil
}

// told is such a conversation. It runs one turn at a time.
type told struct {
	core.Conversation
	fault func() string
	last  string // that was told
}

// Run implements core.Conversation.
func (c *told) Run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	if now := c.fault(); now != c.last {
		if c.last = now; now != "" {
			text := "The configuration has a mistake, so the one before it goes on:\n" + now
			if err := t.Emit(ctx, core.Notice{Severity: core.Warning, Text: text}); err != nil {
				return core.StopError, err
			}
		}
	}
	return c.Conversation.Run(ctx, t)
}
