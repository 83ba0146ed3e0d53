package eca_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/board"
)

// What another client prompts carries its name, and a queued one is announced; the client's own prompts
// carry none. Who else is attached is said when the chat is opened, and when they come and go.
func TestOtherClients(t *testing.T) {
	with(t, "emacs", func(t *testing.T, g *gateway, e *editor) {
		peer, stop := serve(t, g)
		defer stop()
		other := connect(t, peer, "VsCode")
		e.say("c", "say Hello")
		other.ask("chat/open", `{"chatId":"c"}`)
		e.send(e.request("chat/prompt", promptOf("c", "hang")))
		other.until(func(m message) bool { return m.is("text", `"emacs: hang\n"`) && m.Params.Role == "user" })
		other.send(other.request("chat/prompt", promptOf("c", "say There")))
		e.until(func(m message) bool { return m.is("text", `"\nVsCode has queued a prompt: say There\n"`) })
		e.tell("chat/promptStop", `{"chatId":"c"}`)
		e.until(func(m message) bool { return m.is("text", `"VsCode: say There\n"`) && m.Params.Role == "user" })
		e.until(finished("c"))
		other.until(func(m message) bool { return m.is("text", `"There"`) })
		for _, m := range e.seen {
			if m.is("text", "emacs: ") || m.is("text", "emacs has") {
				t.Errorf("its own prompt has a name: %s", m.raw)
			}
		}

		put := func(list ...core.Attendee) {
			g.board.Put(board.Topic{Kind: "present", Name: "c", Principal: core.Local}, board.Present{Clients: list})
		}
		<-time.After(2 * time.Second) // who is there when a chat is opened has not joined
		put(core.Attendee{ID: "z", Name: "Zed"})
		e.until(func(m message) bool { return m.is("text", "Zed joined this session.") && m.Params.Role == "system" })
		e.ask("chat/open", `{"chatId":"c"}`)
		e.until(func(m message) bool { return m.is("text", "Zed is also attached to this session.") })
		put()
		e.until(func(m message) bool { return m.is("text", "Zed left this session.") })
		if n := strings.Count(e.text("c"), "Zed"); n != 3 {
			t.Errorf("Zed was named %d times", n)
		}
	})
}
