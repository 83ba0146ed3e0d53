package agent

import (
	"context"
	"encoding/json"
	"errors"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/replay"
	"dragoman/core"
)

// importing is the history that an agent repeats. The reading goroutine owns it. When that has read the answer to
// session/load, the goroutine that asked does.
type importing struct {
	*replay.History
	said []core.Block         // of a message of the user that is still growing
	id   string               // its messageId
	subs map[string]core.Call // of sub-agents, by the agent's ids of their sessions
}

func newImport(agent string) *importing {
	return &importing{History: replay.New(agent), subs: map[string]core.Call{}}
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
	in.begin()
	err := in.Import(ctx, c.bind.Host, c.b.o.History.Title(c.b.o.Name, session))
	switch {
	case errors.Is(err, core.ErrHistory): // an earlier import came to an end, or another agent has answered
		c.renew()
		return c.bindTo(ctx)
	case err != nil:
		return err
	case !loads:
		c.notice(core.Info, "it cannot show what was said in this session before.")
	}
	if text := in.Missing(); text != "" {
		c.notice(core.Info, text)
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

// add adds events, behind a message of the user that was growing.
func (in *importing) add(events ...core.Event) {
	in.begin()
	in.Add(events...)
}

// begin begins a turn with the message of the user that was growing, if there is one.
func (in *importing) begin() {
	if len(in.said) > 0 {
		in.Say(in.said)
		in.said, in.id = nil, ""
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
