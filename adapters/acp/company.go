package acp

import (
	"slices"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/company"
	"dragoman/core/display"
)

// A session may have other clients. They are listed for programs in the _meta of a session_info_update,
// and named to people in a notice when they come and go. Neither is in the log. What others have
// prompted is shown with their name.

// speaker returns the name to show with a prompt; empty: it is the user's own, or a task's.
func (v *View) speaker(o core.Origin) string {
	switch {
	case v.Parent != "":
		return ""
	case v.replay:
		return company.Past(o, v.Client)
	}
	return company.Speaker(o, v.Client)
}

// spoken appends a message of the user, with the name of another client that has said it. A message of the
// user belongs to a replay, or between the prompts of a client that is known to take it there: others drop
// it, or call it a fault. For these, and while a prompt of the client's own is open, it is a text.
func spoken(dst []byte, v *View, id core.MessageID, prompt []core.Block, name string) []byte {
	open := len(v.mine) > 0 || len(v.waiting) > 0
	if name == "" || len(prompt) == 0 || v.replay || v.Known.Prompts && !open {
		return user(dst, v, id, named(prompt, name))
	}
	if open {
		dst = aside(dst, v, name+": "+words(prompt))
	} else {
		dst = chunks(dst, v, acp.AgentChunk, string(id), name+": "+words(prompt)+"\n\n")
	}
	for i, b := range prompt {
		if _, ok := b.(core.Text); !ok {
			dst = message(dst, v, acp.AgentChunk, id, i, b)
		}
	}
	return dst
}

// named puts the name of who has said a prompt in front of its first text: clients show each piece of a
// message on its own.
func named(prompt []core.Block, name string) []core.Block {
	if name == "" {
		return prompt
	}
	list := slices.Clone(prompt)
	for i, b := range list {
		if t, ok := b.(core.Text); ok {
			list[i] = core.Text{Text: name + ": " + t.Text}
			break
		}
	}
	return list
}

// words returns the texts of a prompt.
func words(prompt []core.Block) string {
	var list []string
	for _, b := range prompt {
		if t, ok := b.(core.Text); ok {
			list = append(list, t.Text)
		}
	}
	return strings.Join(list, "")
}

// queued appends, live, that another client's prompt waits.
func queued(dst []byte, v *View, e core.PromptQueued) []byte {
	if v.own(e.Key) {
		put(&v.waiting, e.Turn, struct{}{})
	}
	name := v.speaker(e.Origin)
	if name == "" || v.replay {
		return dst
	}
	return remark(dst, v, name+" has queued a prompt: "+display.Line(words(e.Prompt), maxQueued))
}

// remark appends, live, what others do: as a notice if the client knows notices, and otherwise as a thought,
// which clients fold, because the agent has not said it.
func remark(dst []byte, v *View, text string) []byte {
	if v.Display.Notices {
		return notice(dst, v, core.Notice{Severity: core.Info, Text: text})
	}
	return chunks(dst, v, acp.ThoughtChunk, "", "\n["+text+"]\n")
}

// maxQueued limits the part of a queued prompt that is shown, in characters. All of it is shown when its
// turn begins.
const maxQueued = 100

// present notes the clients of the session. Programs are told at once.
func (f *feed) present(list []core.Attendee) {
	of := func() *core.Attachment { return f.sess.att }
	changed := f.company.See(f.sess.srv.pump, list, of, func(text string) {
		f.sess.send(func(v *View) []byte { return remark(nil, v, text) })
	})
	if changed && (f.listed || len(company.Others(list, of().Client().ID)) > 0) {
		f.listed = true
		f.sess.send(func(v *View) []byte { return attendees(nil, v, list) })
	}
}

// attendees appends the list of clients.
func attendees(dst []byte, v *View, list []core.Attendee) []byte {
	u := acp.PresentUpdate{SessionUpdate: "session_info_update"}
	u.Meta.Dragoman.Clients = list
	return update(dst, v, u)
}

// gone says that another client has deleted a session.
func (s *Server) gone(id string) {
	sess, err := s.session(id)
	if err != nil {
		return // or this one has
	}
	s.pump.Do(func() {
		// Nobody reads after the connection has ended.
		_ = s.conn.PutLines(notice(nil, sess.feed.view, core.Notice{Severity: core.Warning, Text: "This session was deleted by another client."}))
	})
}
