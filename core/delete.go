package core

import (
	"context"
	"fmt"
	"strings"
)

// AttendedError says that a session was not deleted, because clients are attached to it.
type AttendedError struct {
	Session SessionID
	Clients []Attendee
}

func (e *AttendedError) Error() string {
	names := make([]string, len(e.Clients))
	for i, c := range e.Clients {
		names[i] = c.Name
	}
	return fmt.Sprintf("session %s was not deleted: others are attached to it (%s)", e.Session, strings.Join(names, ", "))
}

// Deletion describes who deletes a session.
type Deletion struct {
	By    string `json:"by,omitempty"`    // the client's id; empty: none that is attached
	All   bool   `json:"all,omitempty"`   // also if others are attached that are visible or prompt; else that is an *AttendedError
	Check bool   `json:"check,omitempty"` // only find that out
}

// Delete stops what runs in a session and removes it, and its sub-sessions with it; no error if there is
// none. The process that owns the session does that; *OwnedError if it cannot be reached.
func (g *Gateway) Delete(ctx context.Context, p Principal, id SessionID, d Deletion) error {
	key := sessionKey{p, id}
	if at := g.owner(ctx, key); at != "" && g.cfg.Sharing != nil {
		return g.deleteAt(ctx, at, key, d)
	}
	if s := g.live(key); s != nil && !d.All {
		others := local{s}.attendees(func(c Client) bool { return c.ID != d.By && (c.Visible || c.Role == Decide) })
		if len(others) > 0 {
			return &AttendedError{id, others}
		}
	}
	if d.Check {
		return nil
	}
	var children []SessionID
	for sum, err := range g.cfg.Store.List(ctx, p) {
		if err != nil {
			return fmt.Errorf("delete session %s: %w", id, err)
		}
		if sum.Parent == id && id != "" {
			children = append(children, sum.ID)
		}
	}
	if err := g.remove(ctx, key); err != nil { // first: it starts no more of them then
		return err
	}
	for _, child := range children {
		if err := g.remove(ctx, sessionKey{p, child}); err != nil {
			return err
		}
	}
	return nil
}

// owner returns the address of another process that owns a session; empty: none does, or none can be reached.
func (g *Gateway) owner(ctx context.Context, key sessionKey) string {
	if s := g.live(key); s != nil {
		return s.journal.Owner()
	}
	j, err := g.cfg.Store.Open(ctx, key.principal, key.id)
	if err != nil {
		return ""
	}
	defer func() { _ = j.Close() }() // it was only read
	return j.Owner()
}

// deleteAt is Delete of a session that another process owns.
func (g *Gateway) deleteAt(ctx context.Context, address string, key sessionKey, d Deletion) error {
	if err := g.cfg.Sharing.Delete(ctx, address, key.principal, key.id, d); err != nil {
		return err
	}
	if d.Check {
		return nil
	}
	return g.remove(ctx, key)
}

// remove is Delete of one session alone.
func (g *Gateway) remove(ctx context.Context, key sessionKey) error {
	if s := g.live(key); s != nil {
		if err := s.close(ctx, ErrCanceled); err != nil {
			return err
		}
		g.drop(s)
	}
	if err := g.cfg.Store.Delete(ctx, key.principal, key.id); err != nil {
		return err
	}
	g.unlisted(key)
	return nil
}

func (g *Gateway) unlisted(key sessionKey) {
	if g.cfg.Listing != nil {
		g.cfg.Listing.Unlisted(key.principal, key.id)
	}
}

// deleted closes the session, which another process has deleted.
func (s *Session) deleted() {
	s.g.parting.Go(func() {
		_ = s.close(context.Background(), ErrNotFound) // the store has nothing of it that could be lost
		s.g.drop(s)
		s.g.unlisted(sessionKey{s.meta.Principal, s.meta.ID})
	})
}
