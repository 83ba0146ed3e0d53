package eca

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"dragoman/adapters/eca/content"
	"dragoman/adapters/proto/eca"
	"dragoman/core"
)

// Events outside the conversation are shown in the chat as text of the system.

// cited names a source of the agent's text. Views make a link of it, so only pages and files
// become links.
func (v *View) cited(dst []byte, l core.Link) []byte {
	title := cmp.Or(l.Title, l.Name, l.URI)
	u, err := url.Parse(l.URI)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "file" {
		text := title
		if title != l.URI {
			text += " (" + l.URI + ")"
		}
		return v.content(
			dst,
			eca.RoleAssistant,
			eca.TextContent{Type: eca.TypeText, Text: "\n`" + strings.ReplaceAll(text, "`", "'") + "`\n"},
		)
	}
	return v.content(dst, eca.RoleAssistant, eca.URLContent{Type: eca.TypeURL, Title: title, URL: l.URI})
}

// foreign shows what an external agent has sent beside its text: images, links and the contents of an ECA server
// as they are.
func (v *View) foreign(dst []byte, e core.Foreign) []byte {
	if role, raw := content.Foreign(e); raw != nil && len(v.lacks) == 0 {
		return v.content(dst, role, raw)
	}
	if len(e.Content) == 1 {
		switch b := e.Content[0].(type) {
		case core.Image:
			if len(b.Data) > 0 && !v.lacks[eca.TypeImage] {
				return v.images(dst, e.Content)
			}
		case core.Link:
			return v.cited(dst, b)
		case core.Text, core.Audio, core.Resource, core.Diff, core.Terminal:
		}
	}
	if e.Text == "" {
		return dst
	}
	return v.systemText(dst, e.Text)
}

// moved shows the chat in which the user continues, as if the client had opened it, if the turn
// was prompted here and the client can show a chat that it has not named. It belongs to the pump.
func (c *chat) moved(turn core.TurnID, to core.SessionID) {
	if c.srv.peerNow().lacks[eca.MethodOpened] || checkID(string(to)) != nil {
		return
	}
	for pr := range c.running {
		if pr.turn != turn {
			continue
		}
		next := c.srv.chatOf(string(to))
		c.srv.within(func(ctx context.Context) {
			next.queue.Go(func() {
				if err := next.open(ctx, wholeChat, false, func(*feed) {}); err != nil {
					c.srv.pump.Do(func() { c.remark("The other chat cannot be shown: " + plain(err)) })
				}
			})
		})
		return
	}
}
