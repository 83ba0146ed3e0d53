package acp

import (
	"context"
	"errors"
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
)

// These methods manage stored sessions, which need not be on the connection. They are unstable.

// maxTitle limits a title, in characters.
const maxTitle = 200

// setTitle handles session/set_title. The title is stored on one line, without invisible characters
// and cut to maxTitle; the answer has it as it was stored.
func (s *Server) setTitle(ctx context.Context, call *wire.Call, p acp.SetTitleRequest) error {
	if p.Title == nil {
		return jrpc2.Errorf(jrpc2.InvalidParams, "title: it is missing")
	}
	title, _ := display.Clip(strings.Join(strings.Fields(display.Plain(*p.Title)), " "), maxTitle)
	if title == "" {
		return jrpc2.Errorf(jrpc2.InvalidParams, "title: it is empty")
	}
	if err := s.manage(ctx, p.SessionID, func(att *core.Attachment) error { return att.Rename(ctx, title) }); err != nil {
		return err
	}
	answer := func() { call.Reply(acp.SetTitleResponse{Title: title}, nil) }
	if sess, err := s.session(p.SessionID); err == nil {
		sess.after(sess.att.Head(), answer) // behind the update about it
	} else {
		answer()
	}
	return nil
}

// status handles session/status. A session that is open, here or in another process, is read but not
// changed, and no client is attached.
func (s *Server) status(ctx context.Context, call *wire.Call, p acp.SessionID) error {
	open, err := s.opts.Gateway.Has(ctx, s.opts.Principal, core.SessionID(p.SessionID))
	if errors.Is(err, core.ErrNotFound) {
		return noSession(p.SessionID)
	}
	if err != nil {
		return err
	}
	res := acp.StatusResponse{Status: acp.SessionSaved}
	if open {
		sess, err := s.opts.Gateway.Open(ctx, s.opts.Principal, core.SessionID(p.SessionID))
		if err != nil {
			return err
		}
		res.Status, res.Meta = acp.SessionOpen, &acp.StatusMeta{}
		st := sess.State()
		res.Meta.Dragoman.Running, res.Meta.Dragoman.Waiting = st.Turn != "", len(st.Asks) > 0
	}
	call.Reply(res, nil)
	return nil
}

// archiveSession handles session/archive: it closes the session as session/close does, then hides
// it from lists. It is idempotent.
func (s *Server) archiveSession(ctx context.Context, call *wire.Call, p acp.SessionID) error {
	s.letGo(p.SessionID, func(sess *session) {
		err := s.manage(ctx, p.SessionID, func(att *core.Attachment) error {
			if turn := att.State().Turn; turn != "" { // another client's
				if err := att.Cancel(ctx, turn, core.ErrCanceled); err != nil {
					return err
				}
			}
			return att.Archive(ctx, true)
		})
		if sess != nil {
			sess.att.Leave()
		}
		if err != nil {
			call.Reply(nil, wireError(err))
			return
		}
		call.Reply(acp.Marker{}, nil)
	})
	return nil
}

// unarchiveSession handles session/unarchive. It is idempotent.
func (s *Server) unarchiveSession(ctx context.Context, call *wire.Call, p acp.SessionID) error {
	err := s.manage(ctx, p.SessionID, func(att *core.Attachment) error { return att.Archive(ctx, false) })
	if err == nil {
		call.Reply(acp.Marker{}, nil)
	}
	return err
}

// manage calls do with a session that need not be on the connection.
func (s *Server) manage(ctx context.Context, id string, do func(*core.Attachment) error) error {
	sess, err := s.opts.Gateway.Open(ctx, s.opts.Principal, core.SessionID(id))
	if errors.Is(err, core.ErrNotFound) {
		return noSession(id)
	}
	if err != nil {
		return err
	}
	att := sess.Attach(core.Client{Name: s.who().client.Name, Principal: s.opts.Principal, Profiles: s.opts.Profiles})
	defer att.Leave()
	return do(att)
}
