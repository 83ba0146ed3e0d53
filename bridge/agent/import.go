package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/brief"
	"dragoman/bridge/agent/elsewhere"
	"dragoman/core"
	"dragoman/core/display"
)

// maxImport limits a history that is imported, in bytes of the agent's updates. Of a longer one the
// newest part is shown.
const maxImport = 64 << 20

// importing turns the history that an agent repeats into the events of a log. It holds them until
// the agent has repeated all of it: a part would stay the session's history for ever.
type importing struct {
	name string

	// The reading goroutine owns the fields below. When it has read the answer to session/load, the
	// goroutine that asked does.
	events []core.Event
	size   int  // of the updates
	cut    bool // the beginning is missing
	title  string
	turn   core.TurnID
	turns  int
	said   []core.Block         // of a message of the user that is still growing
	id     string               // its messageId
	subs   map[string]core.Call // of sub-agents, by the agent's ids of their sessions
}

func newImport(name string) *importing {
	return &importing{name: name, subs: map[string]core.Call{}}
}

// importSession loads a session that the agent had before, with its history. An agent that cannot
// repeat it continues it without.
func (c *conversation) importSession(ctx context.Context, p *peer, session string) error {
	in := newImport(c.b.o.Name)
	loads := p.hello.Caps.LoadSession
	if loads {
		c.setImport(in)
		err := c.request(ctx, p, "session/load", session, map[string]any{})
		if err != nil && c.b.retried(ctx, p, err) {
			in = newImport(c.b.o.Name)
			c.setImport(in)
			err = c.request(ctx, p, "session/load", session, map[string]any{})
		}
		if err != nil {
			c.setImport(nil)
			return err
		}
	} else if err := c.continueSession(ctx, p, session); err != nil {
		return err
	}
	if h := c.b.o.History; h != nil && in.title == "" {
		if _, s, ok := h.Find(elsewhere.ImportID(c.b.o.Name, session)); ok {
			in.title = s.Title
		}
	}
	history := in.history()
	err := c.bind.Host.Import(ctx, func(yield func(core.Event, error) bool) {
		for _, ev := range history {
			if !yield(ev, nil) {
				return
			}
		}
	})
	switch {
	case errors.Is(err, core.ErrHistory): // an earlier import came to an end, or another agent has answered
		c.renew()
		return c.bindTo(ctx)
	case err != nil:
		return err
	case !loads:
		c.notice(core.Info, "it cannot show what was said in this session before.")
	case in.cut:
		c.notice(core.Info, fmt.Sprintf("what was said in this session first is not shown: its history is longer than %d MiB.", maxImport>>20))
	}
	return c.bindTo(ctx)
}

// continueSession resumes a session without its history.
func (c *conversation) continueSession(ctx context.Context, p *peer, session string) error {
	if !p.hello.Caps.Session.Resume {
		return errors.New("it can neither load nor resume sessions")
	}
	return c.request(ctx, p, "session/resume", session, map[string]any{})
}

func (c *conversation) setImport(in *importing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.importing = in
}

// add takes events of the history.
func (in *importing) add(events ...core.Event) {
	in.begin()
	for _, ev := range events {
		switch e := any(ev).(type) {
		case core.Phase:
			continue
		case core.CallChanged:
			e.Call.Turn = in.turn
			ev = e
		case core.Compacted:
			e.Turn = in.turn
			ev = e
		default:
		}
		in.events = append(in.events, ev)
	}
}

// apart takes an event that needs no turn.
func (in *importing) apart(ev core.Event) {
	if e, ok := ev.(core.TitleChanged); ok {
		in.title = e.Title
		return
	}
	in.events = append(in.events, ev)
}

// grow counts an update. If that is too much, the older half is dropped, up to the beginning of a
// turn.
func (in *importing) grow(bytes int) {
	if in.size += bytes; in.size <= maxImport {
		return
	}
	half := len(in.events) / 2
	first := slices.IndexFunc(in.events[half:], func(ev core.Event) bool {
		_, begins := ev.(core.TurnStarted)
		return begins
	})
	if first >= 0 {
		in.events = slices.Clone(in.events[half+first:])
	} else {
		in.events, in.turn = nil, ""
	}
	in.size, in.cut = in.size/2, true
}

// history returns all of it, its title first.
func (in *importing) history() []core.Event {
	if len(in.said) > 0 {
		in.begin()
	}
	in.rest()
	title := in.title
	for _, ev := range in.events {
		if e, ok := ev.(core.TurnStarted); ok && title == "" {
			line, _, _ := strings.Cut(strings.TrimSpace(brief.Plain(e.Prompt)), "\n")
			title = display.Line(line, maxTitle)
		}
	}
	if title == "" {
		return in.events
	}
	return append([]core.Event{core.TitleChanged{Title: title, Auto: true}}, in.events...)
}

// begin begins the turn of what comes next, if none has begun.
func (in *importing) begin() {
	if in.turn != "" && len(in.said) == 0 {
		return
	}
	in.rest()
	in.turns++
	n := strconv.Itoa(in.turns)
	in.turn = core.TurnID("t" + in.name + "-i" + n)
	in.events = append(in.events, core.TurnStarted{Turn: in.turn, Message: core.MessageID("u" + in.name + "-i" + n), Prompt: in.said})
	in.said, in.id = nil, ""
}

// rest ends the last turn.
func (in *importing) rest() {
	if in.turn != "" {
		in.events = append(in.events, core.TurnEnded{Turn: in.turn, Stop: core.StopEnd})
		in.turn = ""
	}
}

// userChunk takes a piece of a message of the user in a history.
func (f *flow) userChunk(content, message []byte) {
	in := f.c.imports()
	if in == nil {
		return // an echo of the prompt
	}
	f.pause()
	var b acp.ContentBlock
	if wire.Unmarshal(json.RawMessage(content), &b) != nil {
		return
	}
	id := valueOf(message)
	if len(in.said) > 0 && id != in.id {
		in.begin()
	}
	in.id = id
	block := f.c.b.paths.blockOf(b)
	if text, ok := block.(core.Text); ok && len(in.said) > 0 {
		if last, ok := in.said[len(in.said)-1].(core.Text); ok {
			in.said[len(in.said)-1] = core.Text{Text: last.Text + text.Text}
			return
		}
	}
	in.said = append(in.said, block)
}

// imports returns the import that goes on; nil: none.
func (c *conversation) imports() *importing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.importing
}
