package setup

import (
	"context"

	"dragoman/core"
)

// faultBackend is a back end whose conversations say once to their user that the
// configuration has become wrong and the one before it goes on.
type faultBackend struct {
	core.Backend
	fault func() string
}

// Open implements core.Backend.
func (b *faultBackend) Open(ctx context.Context, binding core.Binding) (core.Conversation, error) {
	conv, err := b.Backend.Open(ctx, binding)
	if err != nil {
		return nil, err
	}
	return &faultConversation{Conversation: conv, fault: b.fault}, nil
}

// faultConversation is a conversation of a faultBackend. It runs one turn at a time.
type faultConversation struct {
	core.Conversation
	fault func() string
	last  string // that was told
}

// Run implements core.Conversation.
func (c *faultConversation) Run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	if now := c.fault(); now != c.last {
		if c.last = now; now != "" {
			text := "The configuration has a mistake, so the previous one stays in use:\n" + now
			if err := t.Emit(ctx, core.Notice{Severity: core.Warning, Text: text}); err != nil {
				return core.StopError, err
			}
		}
	}
	return c.Conversation.Run(ctx, t)
}
