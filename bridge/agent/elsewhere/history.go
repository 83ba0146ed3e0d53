package elsewhere

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/datadir"
)

const (
	// maxListed limits the sessions of an agent that are kept for lists, the newest first.
	maxListed = 1000
	// maxOurs limits the sessions of an agent that are known to be ours, or were deleted here. Beyond
	// it those are forgotten that the agent does not list.
	maxOurs = 5000
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

// ID returns the id of the session that an agent's session is, or becomes, here.
func (h *History) ID(agent, session string) core.SessionID {
	all, err := h.doc.Read()
	if err != nil { // it is nobody's then
		all = nil
	}
	if id := all[agent].Ours[session]; id != "" {
		return id
	}
	return ImportID(agent, session)
}

// Deleted reports whether the session that an agent's session was, or would become, was deleted here.
func (h *History) Deleted(agent, session string) bool {
	all, err := h.doc.Read()
	return err == nil && all[agent].Hidden[session]
}

// Keep replaces the list of an agent.
func (h *History) Keep(ctx context.Context, agent string, list []Listed) error {
	return h.doc.Change(ctx, func(all histories) (histories, error) {
		now := all[agent]
		now.Sessions = list[:min(len(list), maxListed)]
		now.Ours, now.Hidden = bounded(now.Ours, now.Sessions, ""), bounded(now.Hidden, now.Sessions, "")
		return with(all, agent, now), nil
	})
}

// KeepIn replaces the part of an agent's list whose sessions are in a folder, for an agent that lists those of one
// folder alone.
func (h *History) KeepIn(ctx context.Context, agent, dir string, list []Listed) error {
	return h.doc.Change(ctx, func(all histories) (histories, error) {
		now := all[agent]
		for _, s := range now.Sessions {
			if s.Cwd != dir {
				list = append(list[:len(list):len(list)], s)
			}
		}
		slices.SortStableFunc(list, func(a, b Listed) int { return b.Updated.Compare(a.Updated) })
		now.Sessions = list[:min(len(list), maxListed)]
		now.Ours, now.Hidden = bounded(now.Ours, now.Sessions, ""), bounded(now.Hidden, now.Sessions, "")
		return with(all, agent, now), nil
	})
}

// bounded returns what is known about sessions. If that is too much, it is only about those that
// the agent lists, and the given one.
func bounded[T any](known map[string]T, listed []Listed, also string) map[string]T {
	if len(known) <= maxOurs {
		return known
	}
	left := map[string]T{}
	for _, s := range listed {
		if v, ok := known[s.Session]; ok {
			left[s.Session] = v
		}
	}
	if v, ok := known[also]; ok {
		left[also] = v
	}
	return left
}

// Own notes that an agent's session belongs to one of ours.
func (h *History) Own(ctx context.Context, agent, session string, id core.SessionID) error {
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
		now.Ours = bounded(ours, now.Sessions, session)
		return with(all, agent, now), nil
	})
}

// hide takes an agent's session off the lists. Where nothing can be read, nothing is listed.
func (h *History) hide(ctx context.Context, id core.SessionID) error {
	all, err := h.doc.Read()
	if err == nil {
		_, err = all.without(id)
	}
	if err != nil { // nothing is listed, or no agent has it
		return nil
	}
	return h.doc.Change(ctx, func(all histories) (histories, error) { return all.without(id) })
}

// without hides the agents' sides of a session of ours, and what one that was not imported would have
// become. The error is datadir.ErrUnchanged.
func (all histories) without(id core.SessionID) (histories, error) {
	next, err := all, datadir.ErrUnchanged
	for agent, now := range all {
		session := now.side(agent, id)
		if session == "" || now.Hidden[session] {
			continue
		}
		hidden := map[string]bool{session: true}
		for other := range now.Hidden {
			hidden[other] = true
		}
		now.Hidden = hidden
		next, err = with(next, agent, now), nil
	}
	return next, err
}

// side returns an agent's side of a session of ours, or of what it would become here; "": there is none.
func (is history) side(agent string, id core.SessionID) string {
	for session, of := range is.Ours {
		if of == id {
			return session
		}
	}
	for _, s := range is.Sessions {
		if ImportID(agent, s.Session) == id {
			return s.Session
		}
	}
	return ""
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

// Find returns an agent's session by its id here.
func (h *History) Find(id core.SessionID) (from core.Source, s Listed, ok bool) {
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

// Title returns the title of an agent's session; "": none is known. h may be nil.
func (h *History) Title(agent, session string) string {
	if h == nil {
		return ""
	}
	_, s, _ := h.Find(ImportID(agent, session))
	return s.Title
}
