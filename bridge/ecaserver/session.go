package ecaserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/brief"
	"dragoman/core"
	"dragoman/core/display"
)

// openChat opens the chat in the server: the one that the session had before, one of the server's own, or a
// new one, which the server gets to know with its first prompt.
func (c *conversation) openChat(ctx context.Context, p *peer) error {
	limit := c.b.limits.open
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the agent did not open the chat within %v", limit))
	defer cancel()
	if err := p.awaitOffer(ctx); err != nil {
		return err
	}
	from := c.bind.Meta.From
	c.mu.Lock()
	begun := c.begun
	c.mu.Unlock()
	var err error
	switch {
	case begun:
		err = c.reopen(ctx, p)
	case c.root.id != "": // it was made and never prompted
		p.join(c.root.id, c.root)
	case from.Session != "" && from.Agent == c.b.o.Name:
		err = c.importChat(ctx, p, from.Session)
	default:
		err = c.newChat(ctx, p)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.ready = true
	c.mu.Unlock()
	c.complain(p, nil)
	c.offer(p)
	c.listCommands(p)
	c.b.relist(p)
	return nil
}

// awaitOffer waits until the server has said what can be chosen, or for as long as it may take.
func (p *peer) awaitOffer(ctx context.Context) error {
	limit := time.NewTimer(p.b.limits.offer)
	defer limit.Stop()
	select {
	case <-p.offered:
	case <-limit.C:
	case <-p.life.Done():
		return p.reason()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// opens reports whether the chat is being opened in the server.
func (c *conversation) opens() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opening
}

// life returns the context of the program; without one it never ends.
func (c *conversation) life() context.Context {
	if p := c.program(); p != nil {
		return p.life
	}
	return context.Background()
}

// newChat makes the id of a chat. The server gets to know it with the first prompt.
func (c *conversation) newChat(ctx context.Context, p *peer) error {
	c.mu.Lock()
	c.heard, c.briefed, c.begun, c.own, c.marks, c.stored = brief.Nothing, false, false, config{}, nil, nil
	c.mu.Unlock()
	c.root.id = "dragoman-" + strings.ToLower(rand.Text())
	p.join(c.root.id, c.root)
	return c.keep(ctx)
}

// reopen continues a chat in another process of the server. A server that cannot, or that has lost the chat,
// gets a new one, and is told what was said.
func (c *conversation) reopen(ctx context.Context, p *peer) error {
	p.join(c.root.id, c.root)
	c.root.stage.Mute(true)
	defer c.root.stage.Mute(false)
	found, err := c.request(ctx, p, c.root.id)
	switch {
	case err == nil && found.Found:
		err = c.resume()
	case err == nil:
		err = errors.New("it does not know the chat any more")
	case unsupported(err):
		err = errors.New("it cannot open chats again")
	}
	switch {
	case err == nil, errors.Is(err, wire.ErrClosed):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	p.leave(c.root.id)
	c.root.stage.Mute(false)
	c.notice(core.Warning, "The agent could not continue its chat, so it got a new one with a summary of what was said: "+err.Error())
	return c.newChat(ctx, p)
}

// resume compares what the server has repeated with the marks that the log has. What it remembers beyond them it is
// to forget with the next prompt.
func (c *conversation) resume() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := make(map[string]core.MessageID, len(c.marks))
	for _, m := range c.marks {
		known[m.content] = m.message
	}
	c.marks, c.seen = nil, core.Pos{}
	for _, content := range c.root.repeated {
		c.marks = append(c.marks, mark{content, known[content]})
	}
	if len(c.stored) > 0 && !slices.ContainsFunc(c.stored, func(content string) bool { return slices.Contains(c.root.repeated, content) }) {
		return errors.New("it does not know the last messages any more")
	}
	return nil
}

// request has the server open a chat, and repeat it.
func (c *conversation) request(ctx context.Context, p *peer, id string) (is eca.OpenResult, err error) {
	c.root.repeated = nil // nothing is read about the chat yet
	got := make(chan error, 1)
	ask, err := p.conn.Start(eca.MethodOpen, eca.ChatParams{ChatID: id}, func(raw json.RawMessage, err error) { // behind what is repeated
		if err == nil {
			err = wire.Unmarshal(raw, &is)
		}
		c.root.over()
		got <- err
	})
	if err != nil {
		return is, err
	}
	select {
	case err = <-got:
	case <-ctx.Done():
		ask.Withdraw()
		return eca.OpenResult{}, context.Cause(ctx)
	}
	if err == nil && is.Selection != nil {
		c.mu.Lock()
		s := is.Selection
		c.own = config{Variants: s.Variants}.over(c.own)
		if s.Model != "" {
			c.own.Model = &s.Model
		}
		if s.Agent != "" {
			c.own.Agent = &s.Agent
		}
		if s.Variant != nil {
			c.own.Variant = wire.JSON(*s.Variant)
		}
		c.mu.Unlock()
	}
	return is, err
}

// keep has the log keep what finds the chat again, and lists know that it is ours.
func (c *conversation) keep(ctx context.Context) error {
	c.mu.Lock()
	is, heard := bound{Chat: c.root.id, Briefed: c.briefed}, c.heard
	for _, m := range c.marks[max(len(c.marks)-2, 0):] {
		is.Marks = append(is.Marks, m.content)
	}
	c.stored = is.Marks
	c.mu.Unlock()
	if h := c.b.o.History; h != nil {
		c.after.Go(func() { // only Close waits for the disk
			if err := h.Own(context.Background(), c.b.o.Name, is.Chat, c.bind.Meta.ID); err != nil {
				c.b.o.Say("warn", "note a chat of the agent: "+err.Error()) // it may be listed twice
			}
		})
	}
	state, err := json.Marshal(is)
	if err != nil {
		return err
	}
	return c.bind.Host.Publish(ctx, core.Bound{Agent: c.b.o.Name, State: state, Heard: heard})
}

// commandsFor limits the time for the list of the server's commands.
const commandsFor = 20 * time.Second

// listCommands asks for the server's slash commands, behind whoever opens the chat.
func (c *conversation) listCommands(p *peer) {
	p.asks.Go(func() {
		ctx, cancel := context.WithTimeout(p.life, commandsFor)
		defer cancel()
		var is struct {
			Commands []eca.Command `json:"commands"`
		}
		if p.conn.Ask(ctx, eca.MethodQueryCommands, map[string]any{"chatId": c.root.id, "query": ""}, &is) != nil {
			return // it has none
		}
		list := make([]core.Command, 0, len(is.Commands))
		for _, cmd := range is.Commands {
			own := core.Command{Kind: core.CommandAgent, Name: strings.TrimPrefix(cmd.Name, "/"), Description: display.Line(cmd.Description, 500)}
			for _, a := range cmd.Arguments {
				own.Arguments = append(own.Arguments, core.Argument{Name: a.Name, Description: a.Description, Required: a.Required})
			}
			list = append(list, own)
		}
		c.mu.Lock()
		c.list = list
		c.mu.Unlock()
		c.bind.Offer(list)
		c.offer(p)
	})
}

// showMessage handles $/showMessage.
func (p *peer) showMessage(params json.RawMessage) {
	var m eca.ShowMessageParams
	if wire.Unmarshal(params, &m) != nil || strings.TrimSpace(m.Message) == "" {
		return
	}
	if p.c == nil {
		p.b.o.Say("warn", m.Message)
		return
	}
	severity := core.Info
	switch m.Type {
	case eca.MessageWarning:
		severity = core.Warning
	case eca.MessageError:
		severity = core.Failure
	case eca.MessageInfo:
	}
	p.c.notice(severity, m.Message)
}
