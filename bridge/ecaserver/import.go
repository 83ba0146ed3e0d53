package ecaserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"dragoman/adapters/proto/eca"
	"dragoman/bridge/agent/brief"
	"dragoman/bridge/agent/replay"
	"dragoman/core"
	"dragoman/core/display"
)

// maxTitle limits a title, in characters.
const maxTitle = 200

// importChat opens a chat that the server had before, with its history.
func (c *conversation) importChat(ctx context.Context, p *peer, id string) error {
	in := replay.New(c.b.o.Name)
	c.root.id = id
	c.root.imported(in)
	p.join(id, c.root)
	found, err := c.request(ctx, p, id)
	c.root.imported(nil)
	switch {
	case err != nil:
		return words(eca.MethodOpen, err)
	case !found.Found:
		return fmt.Errorf("agent %s does not know the chat %s any more", c.b.o.Name, display.Line(id, 100))
	}
	err = in.Import(ctx, c.bind.Host, cmp.Or(display.Line(found.Title, maxTitle), c.b.o.History.Title(c.b.o.Name, id)))
	c.mu.Lock()
	if c.begun = true; errors.Is(err, core.ErrHistory) { // an earlier import came to an end, or another agent has answered
		c.heard = brief.Nothing
	}
	for _, content := range c.root.repeated {
		c.marks = append(c.marks, mark{content: content})
	}
	c.mu.Unlock()
	if err != nil && !errors.Is(err, core.ErrHistory) {
		return err
	}
	if text := in.Missing(); text != "" {
		c.notice(core.Info, text)
	}
	return c.keep(ctx)
}

func (c *chat) imported(in *replay.History) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.importing = in
}
