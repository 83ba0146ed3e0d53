package setup

import (
	"context"

	"dragoman/core"
)

// reportFault informs the user of a turn, once in each session, that the configuration has an error
// and the previous one stays in use.
func (p *edition) reportFault(ctx context.Context, t *core.Turn) error {
	now, id := p.faultToShow(), t.Meta().ID
	p.mu.Lock()
	if now == "" {
		clear(p.told)
	}
	news := now != "" && p.told[id] != now
	if news {
		p.told[id] = now
	}
	p.mu.Unlock()
	if !news {
		return nil
	}
	text := "The configuration has a mistake, so the previous one stays in use:\n" + now
	return t.Emit(ctx, core.Notice{Severity: core.Warning, Text: text})
}

// faultBackend is a back end whose turns begin with reportFault of the edition that made their
// profile.
type faultBackend struct{ core.Backend }

// Open implements core.Backend.
func (b *faultBackend) Open(ctx context.Context, binding core.Binding) (core.Conversation, error) {
	conv, err := b.Backend.Open(ctx, binding)
	if err != nil {
		return nil, err
	}
	return reporting(conv), nil
}

// reporting returns a conversation whose turns begin with reportFault. It is a Chooser and a Rester
// if the given one is.
func reporting(conv core.Conversation) core.Conversation {
	f := &faultConversation{conv}
	chooser, chooses := conv.(core.Chooser)
	rester, rests := conv.(core.Rester)
	switch {
	case chooses && rests:
		return struct {
			*faultConversation
			core.Chooser
			core.Rester
		}{f, chooser, rester}
	case chooses:
		return struct {
			*faultConversation
			core.Chooser
		}{f, chooser}
	case rests:
		return struct {
			*faultConversation
			core.Rester
		}{f, rester}
	}
	return f
}

// faultConversation is a conversation of a faultBackend.
type faultConversation struct{ core.Conversation }

// Run implements core.Conversation.
func (c *faultConversation) Run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	if err := editionOf(t.Profile()).reportFault(ctx, t); err != nil {
		return core.StopError, err
	}
	return c.Conversation.Run(ctx, t)
}
