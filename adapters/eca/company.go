package eca

import (
	"context"
	"encoding/json"
	"errors"

	"dragoman/adapters/eca/content"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/pump"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/company"
	"dragoman/core/display"
)

// Other clients of a chat's session are named in texts of the system, live only: when the chat is opened,
// and when they come and go. What they have prompted is shown with their name.

// join begins to tell who else is attached, of a chat that the client shows anew. It belongs to the pump.
func (c *chat) join() {
	c.company.Stop()
	c.company = &pump.Company{}
	c.present(board.Clients(c.srv.opts.Board, c.srv.opts.Principal, c.id))
}

// present notes the clients of the chat. It belongs to the pump.
func (c *chat) present(list []core.Attendee) {
	if c.feed == nil {
		return
	}
	of := func() *core.Attachment { return c.feed.att }
	c.company.See(c.srv.pump, list, of, func(text string) { c.behind(core.Pos{}, func() { c.remark(text) }) })
}

// speaker returns the name to show with a prompt; "": it is the client's own, or a task's.
func (v *View) speaker(o core.Origin) string {
	switch {
	case v.parent != "":
		return ""
	case !v.live:
		return company.Past(o, v.self)
	}
	return company.Speaker(o, v.self)
}

// maxQueued limits the part of a queued prompt that is shown, in characters.
const maxQueued = 100

// promptQueued notes a prompt, whose text is shown when it begins, and says live that another client's waits.
func (v *View) promptQueued(dst []byte, e core.PromptQueued) []byte {
	v.queued[e.Turn] = e
	name := v.speaker(e.Origin)
	if name == "" || !v.live {
		return dst
	}
	return v.systemText(dst, name+" has queued a prompt: "+display.Line(content.Prompt(e.Prompt), maxQueued))
}

// others lists the other clients of the chat.
func (c *chat) others() []core.Attendee {
	return company.Others(board.Clients(c.srv.opts.Board, c.srv.opts.Principal, c.id), c.client())
}

// client is the id of the chat's client; "": there is none.
func (c *chat) client() string {
	if att := c.att.Load(); att != nil {
		return att.Client().ID
	}
	return ""
}

// agreed reports whether the user has agreed to delete a chat that other clients show.
func (c *chat) agreed(ctx context.Context) (bool, error) {
	err := c.srv.opts.Gateway.Delete(ctx, c.srv.opts.Principal, c.id, core.Deletion{By: c.client(), Check: true})
	var attended *core.AttendedError
	switch {
	case !errors.As(err, &attended):
		return false, err
	case !c.srv.peerNow().asks():
		return false, company.Kept(attended)
	}
	question := company.Deletion(attended)
	var answer json.RawMessage
	err = c.srv.conn.Ask(ctx, eca.MethodAskQuestion, (&View{chat: string(c.id)}).asking(question), &answer)
	if err != nil || !company.Deletes(replyTo(question, answer, nil)) {
		return false, errors.Join(errors.New("the chat was kept"), err)
	}
	return true, nil
}
