package acp

import (
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/company"
	"dragoman/core/display"
)

// A session may have other clients. They are listed for programs in the _meta of a session_info_update,
// and named to people in a notice when they come and go. Neither is in the log. What others have
// prompted is shown with their name.

// speaker returns the name to show with a prompt; empty: it is the client's own, or a task's.
func (v *View) speaker(o core.Origin) string {
	if v.Parent != "" {
		return ""
	}
	return company.Speaker(o, v.Client)
}

// spoken appends a message of the user, with the name of another client that has said it. While a prompt of
// the client's own is open, clients drop messages of the user, so what another says is shown as a text.
func spoken(dst []byte, v *View, id core.MessageID, prompt []core.Block, name string) []byte {
	if name == "" || len(prompt) == 0 {
		return user(dst, v, id, prompt)
	}
	if v.replay || len(v.mine) == 0 && len(v.waiting) == 0 {
		dst = chunks(dst, v, acp.UserChunk, string(id), name+": ")
		return user(dst, v, id, prompt)
	}
	dst = aside(dst, v, name+": "+words(prompt))
	for i, b := range prompt {
		if _, ok := b.(core.Text); !ok {
			dst = message(dst, v, acp.AgentChunk, id, i, b)
		}
	}
	return dst
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
	return notice(dst, v, core.Notice{Severity: core.Info, Text: name + " has queued a prompt: " + display.Line(words(e.Prompt), maxQueued)})
}

// maxQueued limits the part of a queued prompt that is shown, in characters. All of it is shown when its
// turn begins.
const maxQueued = 100

// present notes the clients of the session. Programs are told at once.
func (f *feed) present(list []core.Attendee) {
	of := func() *core.Attachment { return f.sess.att }
	changed := f.company.See(f.sess.srv.pump, list, of, func(text string) {
		f.sess.send(func(v *View) []byte { return notice(nil, v, core.Notice{Severity: core.Info, Text: text}) })
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
