package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/elsewhere"
	"dragoman/core/display"
)

const (
	// maxAsked limits the sessions that are taken from an agent's list, and maxPages its pages.
	maxAsked = 10_000
	maxPages = 200
	// maxTitle limits a title, in characters, and maxName an id or a folder, in bytes.
	maxTitle = 200
	maxName  = 4096
	// listFor limits the time for an agent's list.
	listFor = 20 * time.Second
	// listEvery is the shortest time between two lists of an agent.
	listEvery = time.Minute
)

// List asks the agent for its sessions, and keeps them. It starts a program for that if none runs. The newest
// session comes first. Those of an agent that cannot open them again are not kept.
func (b *Backend) List(ctx context.Context) (list []elsewhere.Listed, err error) {
	reloads := false
	err = b.with(ctx, nil, func(p *peer) error {
		list, err = p.list(ctx)
		reloads = p.hello.reloads()
		if errors.Is(err, wire.ErrClosed) {
			err = fmt.Errorf("session/list: %w", p.reason())
		}
		return err
	})
	if err == nil && b.o.History != nil && reloads {
		err = b.o.History.Keep(ctx, b.o.Name, list)
	}
	return list, err
}

// list asks for the pages of the agent's list, the newest session first. Of an agent that takes too
// long the pages count that it has sent.
func (p *peer) list(ctx context.Context) (list []elsewhere.Listed, err error) {
	if !p.hello.Caps.Session.List {
		return nil, errors.New("agent " + p.b.o.Name + " does not list its sessions")
	}
	limit, cancel := context.WithTimeoutCause(ctx, listFor, fmt.Errorf("the agent did not answer within %v", listFor))
	defer cancel()
	defer func() {
		slices.SortStableFunc(list, func(a, b elsewhere.Listed) int { return b.Updated.Compare(a.Updated) })
	}()
	cursor, asked, seen := "", map[string]bool{}, map[string]bool{}
	for range maxPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		var page struct {
			Sessions   []json.RawMessage `json:"sessions"`
			NextCursor string            `json:"nextCursor"`
		}
		err := p.conn.Ask(limit, "session/list", params, &page)
		switch {
		case err == nil:
		case limit.Err() != nil && ctx.Err() == nil && len(list) > 0:
			return list, nil
		case limit.Err() != nil:
			return nil, fmt.Errorf("session/list: %w", context.Cause(limit))
		default:
			return nil, p.b.failure("session/list", err)
		}
		for _, entry := range page.Sessions {
			if is, ok := p.b.listed(entry); ok && !seen[is.Session] { // one that is used meanwhile moves to another page
				seen[is.Session] = true
				list = append(list, is)
			}
		}
		asked[cursor] = true
		if cursor = page.NextCursor; cursor == "" || asked[cursor] || len(list) >= maxAsked {
			return list, nil
		}
	}
	return list, nil
}

// listed returns an entry of the agent's list. One without a folder here cannot be opened, and a
// malformed one is left out.
func (b *Backend) listed(entry json.RawMessage) (is elsewhere.Listed, ok bool) {
	var s acp.SessionInfo
	if wire.Unmarshal(entry, &s) != nil {
		return is, false
	}
	at, _ := time.Parse(time.RFC3339, s.UpdatedAt) // without one it is the oldest
	is = elsewhere.Listed{Session: s.SessionID, Cwd: b.paths.Here(s.Cwd), Title: display.Line(s.Title, maxTitle), Updated: at.UTC()}
	return is, is.Session != "" && len(is.Session) <= maxName && filepath.IsAbs(is.Cwd) && len(is.Cwd) <= maxName && b.paths.Comes(s.Cwd)
}

// relist renews the kept list from a program that runs, behind whoever uses it.
func (b *Backend) relist(p *peer) {
	if b.o.History == nil || !bool(p.hello.Caps.Session.List) || !p.hello.reloads() {
		return
	}
	b.mu.Lock()
	due := b.o.Time().Sub(b.relisted) >= listEvery
	if due {
		b.relisted = b.o.Time()
	}
	b.mu.Unlock()
	if !due {
		return
	}
	p.asks.Go(func() {
		list, err := p.list(p.life)
		if err == nil {
			err = b.o.History.Keep(p.life, b.o.Name, list)
		}
		if err != nil && p.life.Err() == nil {
			b.log("warn", "list the agent's sessions: "+err.Error())
		}
	})
}
