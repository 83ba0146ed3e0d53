package ecaserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/bridge/agent/brief"
	"dragoman/bridge/agent/elsewhere"
	"dragoman/core"
	"dragoman/core/display"
)

const (
	// maxImport limits a history that is imported, in bytes of contents. Of a longer one the newest part is
	// shown.
	maxImport = 64 << 20
	// maxTitle limits a title, in characters.
	maxTitle = 200
)

// importing turns the history that a server repeats into the events of a log. It holds them until the server
// has repeated all of it: a part would stay the session's history for ever. The goroutine that reads owns its
// fields, until it has read the answer to chat/open.
type importing struct {
	name   string
	events []core.Event
	size   int  // of the contents
	cut    bool // the beginning is missing
	title  string
	turn   core.TurnID
	last   core.MessageID // of the user
	turns  int
}

// importChat opens a chat that the server had before, with its history.
func (c *conversation) importChat(ctx context.Context, p *peer, id string) error {
	in := &importing{name: c.b.o.Name}
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
	if in.title = display.Line(found.Title, maxTitle); in.title == "" && c.b.o.History != nil {
		if _, s, ok := c.b.o.History.Find(elsewhere.ImportID(c.b.o.Name, id)); ok {
			in.title = s.Title
		}
	}
	history := in.history()
	err = c.bind.Host.Import(ctx, func(yield func(core.Event, error) bool) {
		for _, ev := range history {
			if !yield(ev, nil) {
				return
			}
		}
	})
	c.mu.Lock()
	c.begun = true
	for _, content := range c.root.repeated {
		c.marks = append(c.marks, mark{content: content})
	}
	if errors.Is(err, core.ErrHistory) { // an earlier import came to an end, or another agent has answered
		c.heard = brief.Nothing
	}
	c.mu.Unlock()
	switch {
	case err != nil && !errors.Is(err, core.ErrHistory):
		return err
	case in.cut:
		c.notice(core.Info, fmt.Sprintf("what was said in this chat first is not shown: its history is longer than %d MiB.", maxImport>>20))
	}
	return c.keep(ctx)
}

func (c *chat) imported(in *importing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.importing = in
}

// say begins a turn with a message of the user.
func (in *importing) say(text string) {
	in.rest()
	in.begin([]core.Block{core.Text{Text: text}})
}

// begin begins a turn.
func (in *importing) begin(said []core.Block) {
	in.turns++
	n := strconv.Itoa(in.turns)
	in.turn, in.last = core.TurnID("t"+in.name+"-i"+n), core.MessageID("u"+in.name+"-i"+n)
	in.events = append(in.events, core.TurnStarted{Turn: in.turn, Message: in.last, Prompt: said})
}

// rest ends the last turn.
func (in *importing) rest() {
	if in.turn != "" {
		in.events = append(in.events, core.TurnEnded{Turn: in.turn, Stop: core.StopEnd})
		in.turn = ""
	}
}

// add takes events of the history.
func (in *importing) add(events ...core.Event) {
	if in.turn == "" {
		in.begin(nil)
	}
	for _, ev := range events {
		if e, ok := any(ev).(core.CallChanged); ok {
			e.Call.Turn = in.turn
			ev = e
		}
		in.events = append(in.events, ev)
	}
}

// apart takes an event that needs no turn.
func (in *importing) apart(ev core.Event) {
	if e, ok := ev.(core.TitleChanged); ok {
		in.title = e.Title
	}
}

// flag marks the last message of the user.
func (in *importing) flag(text string) {
	if in.last != "" {
		in.events = append(in.events, core.Flagged{Message: in.last, Text: text})
	}
}

// grow counts a content. If that is too much, the older half is dropped, up to the beginning of a turn.
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
		in.events, in.turn, in.last = nil, "", ""
	}
	in.size, in.cut = in.size/2, true
}

// history returns all of it, its title first.
func (in *importing) history() []core.Event {
	in.rest()
	title := in.title
	for _, ev := range in.events {
		if e, ok := ev.(core.TurnStarted); ok && title == "" {
			text, _ := texts(e.Prompt)
			line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
			title = display.Line(line, maxTitle)
		}
	}
	if title == "" {
		return in.events
	}
	return append([]core.Event{core.TitleChanged{Title: title, Auto: true}}, in.events...)
}
