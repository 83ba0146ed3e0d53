// Package replay turns the history that an agent behind the gateway repeats into the events of a log.
package replay

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dragoman/bridge/agent/brief"
	"dragoman/core"
	"dragoman/core/display"
)

const (
	// maxSize limits a history, in bytes of what the agent sends. Of a longer one the newest part is kept.
	maxSize = 64 << 20
	// maxTitle limits a title, in characters.
	maxTitle = 200
)

// History is the history of a session, which is imported when the agent has repeated all of it: a part would
// stay the session's history for ever. One goroutine at a time may call its methods.
type History struct {
	agent  string
	title  string
	events []core.Event
	size   int  // of what the agent has sent
	cut    bool // the beginning is missing
	turn   core.TurnID
	last   core.MessageID // of the user
	turns  int
}

// New returns the history of an agent's session, without events.
func New(agent string) *History { return &History{agent: agent} }

// Say ends the turn, and begins the next one with a message of the user, which may be empty.
func (h *History) Say(said []core.Block) {
	h.rest()
	h.turns++
	n := strconv.Itoa(h.turns)
	h.turn, h.last = core.TurnID("t"+h.agent+"-i"+n), core.MessageID("u"+h.agent+"-i"+n)
	h.events = append(h.events, core.TurnStarted{Turn: h.turn, Message: h.last, Prompt: said})
}

// InTurn reports whether a turn has begun.
func (h *History) InTurn() bool { return h.turn != "" }

// rest ends the last turn.
func (h *History) rest() {
	if h.turn != "" {
		h.events = append(h.events, core.TurnEnded{Turn: h.turn, Stop: core.StopEnd})
		h.turn = ""
	}
}

// Add adds events to the turn, and begins one if none has begun.
func (h *History) Add(events ...core.Event) {
	if h.turn == "" {
		h.Say(nil)
	}
	for _, ev := range events {
		switch e := any(ev).(type) {
		case core.Phase: // it is over
			continue
		case core.CallChanged:
			e.Call.Turn = h.turn
			ev = e
		case core.Compacted:
			e.Turn = h.turn
			ev = e
		}
		h.events = append(h.events, ev)
	}
}

// Apart adds an event that needs no turn.
func (h *History) Apart(ev core.Event) {
	if e, ok := ev.(core.TitleChanged); ok {
		h.title = e.Title
		return
	}
	h.events = append(h.events, ev)
}

// Flag marks the last message of the user.
func (h *History) Flag(text string) {
	if h.last != "" {
		h.events = append(h.events, core.Flagged{Message: h.last, Text: text})
	}
}

// Grow counts bytes that the agent has sent. If that is too much, the older half is dropped, up to the
// beginning of a turn.
func (h *History) Grow(bytes int) {
	if h.size += bytes; h.size <= maxSize {
		return
	}
	half := len(h.events) / 2
	first := slices.IndexFunc(h.events[half:], func(ev core.Event) bool {
		_, begins := ev.(core.TurnStarted)
		return begins
	})
	if first >= 0 {
		h.events = slices.Clone(h.events[half+first:])
	} else {
		h.events, h.turn, h.last = nil, "", ""
	}
	h.size, h.cut = h.size/2, true
}

// Missing returns a text for the user that says what is not there; "": all is.
func (h *History) Missing() string {
	if !h.cut {
		return ""
	}
	return fmt.Sprintf("what was said in this session first is not shown: its history is longer than %d MiB.", maxSize>>20)
}

// Import makes the history that of a session, or returns core.ErrHistory if it has one. A title that the agent
// has not told is the given one or, if that is empty, the first line of the user's first message.
func (h *History) Import(ctx context.Context, to core.Host, title string) error {
	h.rest()
	all := h.events
	if title = h.titled(title); title != "" {
		all = append([]core.Event{core.TitleChanged{Title: title, Auto: true}}, all...)
	}
	return to.Import(ctx, func(yield func(core.Event, error) bool) {
		for _, ev := range all {
			if !yield(ev, nil) {
				return
			}
		}
	})
}

func (h *History) titled(title string) string {
	if h.title != "" {
		return h.title
	}
	for _, ev := range h.events {
		if e, ok := ev.(core.TurnStarted); ok && title == "" {
			line, _, _ := strings.Cut(strings.TrimSpace(brief.Plain(e.Prompt)), "\n")
			title = display.Line(line, maxTitle)
		}
	}
	return title
}
