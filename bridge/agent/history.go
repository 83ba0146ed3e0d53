package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/datadir"
)

const (
	// maxListed limits the sessions of an agent that are kept for lists, the newest first.
	maxListed = 1000
	// maxPages limits the pages of an agent's list.
	maxPages = 50
	// listFor limits the time for an agent's list.
	listFor = 20 * time.Second
	// listEvery is the shortest time between two lists of an agent.
	listEvery = time.Minute
)

// Listed is a session in an agent's own list.
type Listed struct {
	Session string    `json:"session"` // the agent's id
	Cwd     string    `json:"cwd"`
	Title   string    `json:"title,omitempty"`
	Updated time.Time `json:"updated,omitzero"`
}

// History keeps the last list of each agent, so that no agent is started for a list, and which of
// their sessions are ours. All processes of a user share it.
type History struct {
	doc datadir.Document[histories]
}

// histories are the lists by agent.
type histories map[string]history

type history struct {
	Sessions []Listed                  `json:"sessions,omitempty"`
	Ours     map[string]core.SessionID `json:"ours,omitempty"`   // by the agent's id: the session that it is the agent's side of
	Hidden   map[string]bool           `json:"hidden,omitempty"` // by the agent's id: deleted here
}

// NewHistory returns the history in a file.
func NewHistory(path string) *History {
	return &History{doc: datadir.Document[histories]{Path: path, Max: 16 << 20}}
}

// ImportID returns the id of the session that an agent's session becomes here.
func ImportID(agent, session string) core.SessionID {
	id := agent + ":" + session
	if len(id) > 200 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		sum := sha256.Sum256([]byte(session))
		id = agent + ":" + hex.EncodeToString(sum[:16])
	}
	return core.SessionID(id)
}

// keep replaces the list of an agent.
func (h *History) keep(ctx context.Context, agent string, list []Listed) error {
	return h.doc.Change(ctx, func(all histories) (histories, error) {
		now := all[agent]
		slices.SortStableFunc(list, func(a, b Listed) int { return b.Updated.Compare(a.Updated) })
		now.Sessions = list[:min(len(list), maxListed)]
		return with(all, agent, now), nil
	})
}

// own notes that an agent's session belongs to one of ours.
func (h *History) own(ctx context.Context, agent, session string, id core.SessionID) error {
	return h.doc.Change(ctx, func(all histories) (histories, error) {
		now := all[agent]
		if now.Ours[session] == id {
			return all, datadir.ErrUnchanged
		}
		ours := map[string]core.SessionID{session: id}
		for s, of := range now.Ours {
			if s != session {
				ours[s] = of
			}
		}
		now.Ours = ours
		return with(all, agent, now), nil
	})
}

// hide takes an agent's session off the lists.
func (h *History) hide(ctx context.Context, id core.SessionID) error {
	return h.doc.Change(ctx, func(all histories) (histories, error) {
		for agent, now := range all {
			for _, s := range now.Sessions {
				if ImportID(agent, s.Session) == id {
					hidden := map[string]bool{s.Session: true}
					for other := range now.Hidden {
						hidden[other] = true
					}
					now.Hidden = hidden
					return with(all, agent, now), nil
				}
			}
		}
		return all, datadir.ErrUnchanged
	})
}

func with(all histories, agent string, now history) histories {
	next := histories{agent: now}
	for name, list := range all {
		if name != agent {
			next[name] = list
		}
	}
	return next
}

// find returns an agent's session by its id here.
func (h *History) find(id core.SessionID) (from core.Source, s Listed, ok bool) {
	all, err := h.doc.Read()
	if err != nil {
		return from, s, false
	}
	for agent, list := range all {
		for _, s := range list.Sessions {
			if of := list.Ours[s.Session]; ImportID(agent, s.Session) == id && !list.Hidden[s.Session] && (of == "" || of == id) {
				return core.Source{Agent: agent, Session: s.Session}, s, true
			}
		}
	}
	return from, s, false
}

// List asks the agent for its sessions, and keeps them. It starts a program for that if none runs.
func (b *Backend) List(ctx context.Context) (list []Listed, err error) {
	err = b.with(ctx, nil, func(p *peer) error {
		list, err = p.list(ctx)
		return err
	})
	if err == nil && b.o.History != nil {
		err = b.o.History.keep(ctx, b.o.Name, list)
	}
	return list, err
}

// list asks for all pages of the agent's list.
func (p *peer) list(ctx context.Context) (list []Listed, err error) {
	if !p.hello.Caps.Session.List {
		return nil, errors.New("agent " + p.b.o.Name + " does not list its sessions")
	}
	ctx, cancel := context.WithTimeout(ctx, listFor)
	defer cancel()
	cursor := ""
	for range maxPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		var page acp.ListResponse
		if err := p.conn.Ask(ctx, "session/list", params, &page); err != nil {
			return nil, words("session/list", err)
		}
		for _, s := range page.Sessions {
			if s.SessionID == "" || len(list) >= maxListed {
				continue
			}
			at, _ := time.Parse(time.RFC3339, s.UpdatedAt) // without one it is the oldest
			list = append(list, Listed{Session: s.SessionID, Cwd: p.b.paths.here(s.Cwd), Title: s.Title, Updated: at.UTC()})
		}
		if cursor = page.NextCursor; cursor == "" {
			return list, nil
		}
	}
	return list, nil
}

// relist renews the kept list from a program that runs, behind whoever uses it.
func (b *Backend) relist(p *peer) {
	if b.o.History == nil || !bool(p.hello.Caps.Session.List) {
		return
	}
	b.mu.Lock()
	due := b.o.now().Sub(b.listed) >= listEvery
	if due {
		b.listed = b.o.now()
	}
	b.mu.Unlock()
	if !due {
		return
	}
	p.asks.Go(func() {
		list, err := p.list(p.life)
		if err == nil {
			err = b.o.History.keep(p.life, b.o.Name, list)
		}
		if err != nil && p.life.Err() == nil {
			b.log("warn", "list the agent's sessions: "+err.Error())
		}
	})
}

// Store adds the sessions that agents had by themselves to the lists of the local user. One is made
// here when it is first claimed.
type Store struct {
	core.Store

	History *History
	// Offers reports whether an agent is configured.
	Offers func(agent string) bool
}

// List implements core.Store.
func (s Store) List(ctx context.Context, p core.Principal) iter.Seq2[core.Summary, error] {
	return func(yield func(core.Summary, error) bool) {
		more := s.foreign(p)
		if len(more) == 0 {
			s.Store.List(ctx, p)(yield)
			return
		}
		have := map[core.SessionID]bool{}
		for sum, err := range s.Store.List(ctx, p) {
			for err == nil && len(more) > 0 && more[0].Updated.After(sum.Updated) {
				if !have[more[0].ID] && !yield(more[0], nil) {
					return
				}
				more = more[1:]
			}
			have[sum.ID] = true
			if !yield(sum, err) {
				return
			}
		}
		for _, sum := range more {
			if !have[sum.ID] && !yield(sum, nil) {
				return
			}
		}
	}
}

// foreign lists the sessions that agents had by themselves, last used first.
func (s Store) foreign(p core.Principal) (list []core.Summary) {
	if p != core.Local {
		return nil
	}
	all, err := s.History.doc.Read()
	if err != nil {
		return nil // it never hides our own sessions
	}
	for agent, h := range all {
		if !s.Offers(agent) {
			continue
		}
		for _, e := range h.Sessions {
			if id := h.Ours[e.Session]; id != "" || h.Hidden[e.Session] {
				continue
			}
			list = append(list, core.Summary{
				ID: ImportID(agent, e.Session), Title: e.Title, Cwd: e.Cwd, Roots: []string{e.Cwd}, Created: e.Updated, Updated: e.Updated, Agent: agent,
				Messages: 1, // the agent does not say how many
			})
		}
	}
	slices.SortStableFunc(list, func(a, b core.Summary) int { return b.Updated.Compare(a.Updated) })
	return list
}

// Open implements core.Store.
func (s Store) Open(ctx context.Context, p core.Principal, id core.SessionID) (core.Journal, error) {
	j, err := s.Store.Open(ctx, p, id)
	if !errors.Is(err, core.ErrNotFound) || p != core.Local {
		return j, err
	}
	from, e, ok := s.History.find(id)
	if !ok || !s.Offers(from.Agent) || e.Cwd == "" {
		return j, err
	}
	return &journal{store: s.Store, meta: core.Meta{ID: id, Principal: p, Cwd: e.Cwd, Roots: []string{e.Cwd}, From: from, Created: e.Updated}}, nil
}

// Delete implements core.Store. The agent keeps its own side.
func (s Store) Delete(ctx context.Context, p core.Principal, id core.SessionID) error {
	if err := s.Store.Delete(ctx, p, id); err != nil || p != core.Local {
		return err
	}
	return s.History.hide(ctx, id)
}
