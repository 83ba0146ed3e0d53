package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// witness is a client of one process whose history is recorded. Its face decides what
// it does.
type witness struct {
	*peer
	name string
	h    *history

	begun map[string]string // the prompts that have not ended yet, by session

	begin func() string
	// prompt sends one, without waiting for its end.
	prompt func(session, text string)
	// begins waits until the turn of a prompt shows something.
	begins func(session string)
	// ended waits until the turn of a prompt has ended and returns how.
	ended func(session, text string) string
	// load sees all of a session anew. busy: something runs in it.
	load func(session string, busy bool)
	// last records what was seen by the time that the process died.
	last func()
}

// witnesses are the faces of the program.
var witnesses = map[string]func(t *testing.T, p *place, h *history) *witness{
	"acp": func(t *testing.T, p *place, h *history) *witness { return watchEditor(t, p, h, acpDialect()) },
	"eca": func(t *testing.T, p *place, h *history) *witness { return watchEditor(t, p, h, ecaDialect()) },
	"mcp": watchCaller,
}

const inUse = "in use by another process"

// answered records the outcome of a prompt. A prompt that failed may be in the session
// or not.
func (h *history) answered(client, session, text, end string) {
	var kind actKind
	switch {
	case strings.Contains(end, inUse):
		kind = refused
	case strings.HasPrefix(end, endOK), strings.HasPrefix(end, "completed"):
		kind = taken
	case strings.Contains(end, "could not be stored"):
		kind = unstored
	default:
		return
	}
	h.acts = append(h.acts, act{kind: kind, client: client, session: session, prompt: text})
}

func (h *history) sent(client, session, text string) {
	h.acts = append(h.acts, act{kind: prompted, client: client, session: session, prompt: text})
}

func (h *history) sees(kind actKind, client, session string, v *view) {
	h.acts = append(h.acts, act{kind: kind, client: client, session: session, sight: append([]element(nil), v.seen...)})
}

func watchEditor(t *testing.T, p *place, h *history, d *dialect) *witness {
	t.Helper()
	e := p.edit(t, d, quickly(t), "--config", p.home+"/config.yaml")
	e.records = true
	w := &witness{peer: e.peer, name: fmt.Sprint(d.name, " ", e.pid()), h: h, begun: map[string]string{}}
	w.begin = e.begin
	ends, facts, seen := map[string]int{}, map[string]int{}, map[string]int{} // of each session, when it was prompted last
	w.prompt = func(id, text string) {
		h.sent(w.name, id, text)
		v := e.view(id)
		ends[id], facts[id], seen[id] = len(v.ends), len(v.facts), len(ordered(v.seen))
		e.prompt(id, text)
	}
	w.begins = func(id string) {
		v := e.view(id)
		e.read("the turn's beginning", func() bool { return len(ordered(v.seen)) > seen[id] })
	}
	w.ended = func(id, text string) string {
		v := e.view(id)
		told := func() string { return strings.Join(v.facts[min(facts[id], len(v.facts)):], " ") } // an editor is told in a note
		e.read("the turn's end", func() bool { return len(v.ends) > ends[id] || strings.Contains(told(), inUse) })
		end := told()
		if len(v.ends) > ends[id] {
			end = v.ends[len(v.ends)-1] + " " + end
		}
		h.answered(w.name, id, text, end)
		return end
	}
	others := map[string]bool{} // sessions in which another process worked when they were loaded
	w.load = func(id string, busy bool) {
		if others[id] && e.dialect.name == "acp" { // updates of that work may be on their way: no replay may follow them
			e.ask("session/close", object{"sessionId": id})
		}
		others[id] = busy
		if v := e.views[id]; v != nil {
			h.sees(saw, w.name, id, v)
		}
		kind := loaded
		if busy {
			kind = glimpsed
		}
		h.sees(kind, w.name, id, e.load(id))
	}
	w.last = func() {
		e.lastWords()
		for id, v := range e.views {
			h.sees(saw, w.name, id, v)
		}
	}
	return w
}

// watchCaller is a witness that polls: it sees turns, and transcripts.
func watchCaller(t *testing.T, p *place, h *history) *witness {
	t.Helper()
	c := p.call(t, quickly(t), "--config", p.home+"/config.yaml")
	w := &witness{peer: c.peer, name: fmt.Sprint("mcp ", c.cmd.Process.Pid), h: h, begun: map[string]string{}}
	turns := map[string]*heard{} // by session and prompt
	listen := func(session, turn string) *heard {
		heard := hear(result{})
		heard.session, heard.turn, heard.records = session, turn, true
		return heard
	}
	w.begin = func() string { return c.prompt("", "stream 1 of 1").Structured.Session }
	w.prompt = func(id, text string) {
		h.sent(w.name, id, text)
		args := promptArgs(id, text)
		args["wait_seconds"] = 0
		r := c.use("agent_prompt", args)
		if r.IsError {
			h.answered(w.name, id, text, r.text())
			return
		}
		h.answered(w.name, id, text, endOK) // it has begun
		one := listen(id, r.Structured.Turn)
		turns[id+text] = one
		c.listen(one, 0)
	}
	w.begins = func(string) {} // the answer to a prompt already shows that its turn has begun
	w.ended = func(id, text string) string {
		one := turns[id+text]
		if one == nil {
			return inUse
		}
		c.poll(one, "the end", one.over)
		h.answered(w.name, id, text, one.ends[0])
		h.sees(saw, w.name, one.session+"/"+one.turn, one.view)
		return one.ends[0]
	}
	w.load = func(id string, busy bool) {
		whole := newView()
		whole.records = true
		var ids []string
		for _, e := range c.use("session_get", object{"session_id": id, "limit": 500}).Structured.Entries {
			if e.Type == "user" && e.Text != "stream 1 of 1" {
				whole.show(elemSaid, "", e.Text)
				ids = append(ids, e.Turn)
			}
		}
		kind := loaded
		if busy {
			kind = glimpsed
		}
		h.sees(kind, w.name, id, whole)
		for _, turn := range ids {
			one := listen(id, turn)
			if !busy {
				c.poll(one, "the end", one.over)
			} else {
				c.listen(one, 0)
			}
			h.sees(map[bool]actKind{true: saw, false: loaded}[busy], w.name, id+"/"+turn, one.view)
		}
	}
	w.last = func() {
		c.left(patience)
		for _, one := range turns {
			h.sees(saw, w.name, one.session+"/"+one.turn, one.view)
		}
	}
	return w
}

// over ends a witness whose process lives on.
func (w *witness) over() {
	w.in.Close()
	w.last()
	w.left(patience)
}
