package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// errLeft ends an import whose reader has stopped.
var errLeft = errors.New("the import has ended")

// importing turns the history that an agent repeats into the events of a log.
type importing struct {
	name   string
	events chan core.Event
	done   chan struct{} // closed when nobody takes events any more

	// The reading goroutine owns the fields below.
	turn  core.TurnID
	turns int
	said  []core.Block // of a message of the user that is still growing
	id    string       // its messageId
}

// importSession loads a session that the agent had before, with its history. An agent that cannot
// repeat it continues it without.
func (c *conversation) importSession(ctx context.Context, p *peer, session string) error {
	if !p.hello.Caps.LoadSession {
		c.notice(core.Info, "it cannot show what was said in this session before.")
		return c.continueSession(ctx, p, session)
	}
	in := &importing{name: c.b.o.Name, events: make(chan core.Event), done: make(chan struct{})}
	c.setImport(in)
	defer c.setImport(nil)
	answered := make(chan error, 1)
	c.after.Go(func() {
		err := c.request(ctx, p, "session/load", session, map[string]any{})
		answered <- err
	})
	var failed error
	err := c.bind.Host.Import(ctx, func(yield func(core.Event, error) bool) {
		defer close(in.done)
		for {
			select {
			case ev := <-in.events:
				if !yield(ev, nil) {
					failed = errLeft
					return
				}
			case failed = <-answered:
				if failed != nil {
					yield(nil, failed)
					return
				}
				for _, ev := range in.rest() {
					if !yield(ev, nil) {
						return
					}
				}
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if h := c.b.o.History; h != nil {
		if _, s, ok := h.find(ImportID(c.b.o.Name, session)); ok && s.Title != "" {
			if err := c.bind.Host.Publish(ctx, core.TitleChanged{Title: s.Title, Auto: true}); err != nil {
				return err
			}
		}
	}
	return c.bindTo(ctx)
}

// continueSession resumes a session without its history.
func (c *conversation) continueSession(ctx context.Context, p *peer, session string) error {
	if !p.hello.Caps.Session.Resume {
		return errors.New("it can neither load nor resume sessions")
	}
	if err := c.request(ctx, p, "session/resume", session, map[string]any{}); err != nil {
		return err
	}
	return c.bindTo(ctx)
}

func (c *conversation) setImport(in *importing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.importing = in
}

// add takes events of the history. It runs on the reading goroutine.
func (in *importing) add(events ...core.Event) bool {
	list := in.begin()
	for _, ev := range events {
		if e, ok := ev.(core.CallChanged); ok {
			e.Call.Turn = in.turn
			ev = e
		}
		list = append(list, ev)
	}
	return in.send(list...)
}

func (in *importing) send(events ...core.Event) bool {
	for _, ev := range events {
		select {
		case in.events <- ev:
		case <-in.done:
			return false
		}
	}
	return true
}

// begin returns the events that begin the turn of what comes next, if none has begun.
func (in *importing) begin() (list []core.Event) {
	if in.turn != "" && len(in.said) == 0 {
		return nil
	}
	list = in.rest()
	in.turns++
	n := strconv.Itoa(in.turns)
	in.turn = core.TurnID("t" + in.name + "-i" + n)
	list = append(list, core.TurnStarted{Turn: in.turn, Message: core.MessageID("u" + in.name + "-i" + n), Prompt: in.said})
	in.said, in.id = nil, ""
	return list
}

// rest returns the end of the last turn.
func (in *importing) rest() []core.Event {
	if in.turn == "" {
		return nil
	}
	id := in.turn
	in.turn = ""
	return []core.Event{core.TurnEnded{Turn: id, Stop: core.StopEnd}}
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
		in.send(in.begin()...)
	}
	in.id = id
	block := blockOf(b)
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
