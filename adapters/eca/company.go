package eca

import (
	"dragoman/adapters/eca/content"
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
	c.present(board.Clients(c.srv.opts.Board, c.id))
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
	if v.parent != "" {
		return ""
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
