package ecaserver

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"dragoman/adapters/proto/eca"
	"dragoman/bridge/agent/elsewhere"
	"dragoman/core/display"
)

const (
	// maxAsked limits the chats that are taken from a server's list, and maxName an id, in bytes.
	maxAsked = 10_000
	maxName  = 256
	// listFor limits the time for a server's list, and listEvery is the shortest time between two lists of a
	// folder.
	listFor   = 20 * time.Second
	listEvery = time.Minute
)

// List asks the server for its chats in the folder that we were started in, and keeps them. A server has a list
// for each folder. The newest chat comes first.
func (b *Backend) List(ctx context.Context) (list []elsewhere.Listed, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	err = b.alone(ctx, dir, nil, func(p *peer) error {
		list, err = p.list(ctx, dir)
		return err
	})
	if err == nil && b.o.History != nil {
		err = b.o.History.KeepIn(ctx, b.o.Name, dir, list)
	}
	return list, err
}

// list asks for the chats of the server in its folder.
func (p *peer) list(ctx context.Context, dir string) (list []elsewhere.Listed, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listFor, fmt.Errorf("the agent did not answer within %v", listFor))
	defer cancel()
	var is struct {
		Chats []eca.ChatSummary `json:"chats"`
	}
	err = p.conn.Ask(ctx, eca.MethodList, map[string]any{"limit": maxAsked, "sortBy": "updatedAt"}, &is)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", eca.MethodList, context.Cause(ctx))
	case unsupported(err):
		return nil, fmt.Errorf("agent %s does not list its chats", p.b.o.Name)
	case err != nil:
		return nil, words(eca.MethodList, err)
	}
	for _, c := range is.Chats {
		if c.ID == "" || len(c.ID) > maxName || strings.HasPrefix(c.ID, "subagent-") || len(list) >= maxAsked {
			continue
		}
		list = append(list, elsewhere.Listed{Session: c.ID, Cwd: dir, Title: display.Line(c.Title, maxTitle), Updated: time.UnixMilli(max(c.UpdatedAt, c.CreatedAt)).UTC()})
	}
	slices.SortStableFunc(list, func(a, b elsewhere.Listed) int { return b.Updated.Compare(a.Updated) })
	return list, nil
}

// relist renews what is kept about the server from a program that runs, behind whoever uses it: its chats in
// the session's folder, and its ways to sign in.
func (b *Backend) relist(p *peer) {
	dir := p.c.bind.Meta.Cwd
	b.mu.Lock()
	due := b.o.Time().Sub(b.relisted[dir]) >= listEvery
	if due {
		b.relisted[dir] = b.o.Time()
	}
	b.mu.Unlock()
	if !due {
		return
	}
	p.asks.Go(func() {
		if list, err := p.providers(p.life); err == nil {
			b.met(list)
		}
		if b.o.History == nil {
			return
		}
		list, err := p.list(p.life, dir)
		if err == nil {
			err = b.o.History.KeepIn(p.life, b.o.Name, dir, list)
		}
		if err != nil && p.life.Err() == nil {
			b.o.Say("warn", "list the agent's chats: "+err.Error())
		}
	})
}
