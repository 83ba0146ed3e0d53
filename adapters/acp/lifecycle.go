package acp

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/fork"
)

// newSession handles session/new. An error in the configuration is reported here, where clients
// show it.
func (s *Server) newSession(ctx context.Context, call *wire.Call, p acp.SessionRequest) error {
	roots, offer, err := s.opened(ctx, p)
	if err != nil {
		return err
	}
	sess, err := s.opts.Gateway.Create(ctx, core.Meta{Principal: s.opts.Principal, Cwd: roots[0], Roots: roots})
	if err != nil {
		return err
	}
	s.add(
		ctx,
		sess,
		entrance{
			servers: p.MCPServers,
			offer:   offer,
			answer:  func(r acp.SessionResponse) { call.Reply(r, nil) },
		},
	)
	return nil
}

// opened checks the params that all requests for opening a session share.
func (s *Server) opened(ctx context.Context, p acp.SessionRequest) (roots []string, offer *Offer, err error) {
	if roots, err = rootsOf(p); err != nil {
		return nil, nil, err
	}
	if err := checkServers(p.MCPServers); err != nil {
		return nil, nil, err
	}
	prof, err := s.opts.Gateway.Profile(ctx, s.opts.Profiles, roots)
	if err != nil {
		return nil, nil, err
	}
	return roots, NewOffer(prof, bool(s.who().caps.Session.ConfigOptions.Boolean)), nil
}

// loadSession handles session/load: the whole replay precedes the answer.
func (s *Server) loadSession(ctx context.Context, call *wire.Call, p acp.SessionRequest) error {
	return s.reopen(ctx, call, p, true)
}

// resumeSession handles session/resume: nothing is replayed.
func (s *Server) resumeSession(ctx context.Context, call *wire.Call, p acp.SessionRequest) error {
	return s.reopen(ctx, call, p, false)
}

func (s *Server) reopen(ctx context.Context, call *wire.Call, p acp.SessionRequest, replay bool) error {
	roots, offer, err := s.opened(ctx, p)
	if err != nil {
		return err
	}
	sess, err := s.open(ctx, p.SessionID, replay)
	if err != nil {
		return err
	}
	e := entrance{
		after:   sess.Head(),
		replay:  replay,
		servers: p.MCPServers,
		offer:   offer,
		foreign: beyond(sess.Meta().Roots, roots),
		answer: func(r acp.SessionResponse) {
			r.SessionID = ""
			call.Reply(r, nil)
		},
	}
	if e.head = e.after; replay {
		e.after = core.Pos{}
	} else {
		e.missing = sess.State().Missing
	}
	s.add(ctx, sess, e)
	return nil
}

// open opens a session. With replay, a session that is already on the connection is silent from
// then on, because the replay contains everything.
func (s *Server) open(ctx context.Context, id string, replay bool) (*core.Session, error) {
	old, err := s.session(id)
	here := err == nil && replay
	if here {
		s.pump.Remove(old.feed)
	}
	sess, err := s.opts.Gateway.Open(ctx, s.opts.Principal, core.SessionID(id))
	if err != nil && here {
		s.pump.Do(func() { s.pump.Add(old.att, old.feed.pos, old.feed, nil) }) // unchanged
	}
	if errors.Is(err, core.ErrNotFound) {
		return nil, notFound(id)
	}
	return sess, err
}

// beyond lists the wanted folders that a session does not have: it keeps the folders it was
// created with.
func beyond(has, wants []string) (list []string) {
	for _, dir := range wants {
		if !slices.Contains(has, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// forkSession handles session/fork: the client continues in a copy of the conversation so far.
// The copy has the folders of the original.
func (s *Server) forkSession(ctx context.Context, call *wire.Call, p acp.SessionRequest) error {
	_, offer, err := s.opened(ctx, p)
	if err != nil {
		return err
	}
	from, err := s.open(ctx, p.SessionID, false)
	if err != nil {
		return err
	}
	if cwd := from.Meta().Cwd; filepath.Clean(p.Cwd) != cwd {
		return jrpc2.Errorf(jrpc2.InvalidParams, "cwd: a copy of session %.60s has its folder, %s", p.SessionID, cwd)
	}
	att := from.Attach(core.Client{Name: "session/fork", Role: core.Observe})
	defer att.Close()
	sess, err := fork.Session(ctx, s.opts.Gateway, att, att.Head(), "")
	if err != nil {
		return err
	}
	head := sess.Head()
	s.add(
		ctx,
		sess,
		entrance{
			after:   head,
			head:    head,
			missing: from.State().Missing,
			servers: p.MCPServers,
			offer:   offer,
			answer:  func(r acp.SessionResponse) { call.Reply(r, nil) },
		},
	)
	return nil
}

// closeSession handles session/close: it cancels the running turn, and ends the session's jobs
// and servers. It is idempotent.
func (s *Server) closeSession(_ context.Context, call *wire.Call, p acp.SessionID) error {
	s.letGo(p.SessionID, func(sess *session) {
		if sess != nil {
			sess.att.Leave()
		}
		call.Reply(acp.Marker{}, nil)
	})
	return nil
}

// deleteSession handles session/delete. It is idempotent.
func (s *Server) deleteSession(ctx context.Context, call *wire.Call, p acp.SessionID) error {
	s.letGo(p.SessionID, func(sess *session) {
		if sess != nil {
			sess.att.Close()
		}
		if err := s.opts.Gateway.Delete(ctx, s.opts.Principal, core.SessionID(p.SessionID)); err != nil {
			call.Reply(nil, wireError(err))
			return
		}
		call.Reply(acp.Marker{}, nil)
	})
	return nil
}

// letGo takes a session off the connection: running turns are cancelled, every prompt is
// answered, and then the rest follows, which may wait. The session is nil if it is not on this
// connection.
func (s *Server) letGo(id string, then func(*session)) {
	s.mu.Lock()
	sess := s.sessions[core.SessionID(id)]
	delete(s.sessions, core.SessionID(id))
	if sess != nil {
		s.going[sess] = struct{}{}
	}
	s.mu.Unlock()
	if sess == nil {
		then(nil)
		return
	}
	sess.prompts.Cancel()
	sess.queue.Go(func() {
		sess.prompts.WhenNone(func() {
			s.pump.Do(func() {
				s.pump.Remove(sess.feed)
				sess.feed.retire()
				sess.queue.Go(func() {
					then(sess)
					s.mu.Lock()
					delete(s.going, sess)
					s.mu.Unlock()
				})
			})
		})
	})
}

// rootsOf returns the working directory and the additional directories.
func rootsOf(p acp.SessionRequest) ([]string, error) {
	var roots []string
	for _, dir := range append([]string{p.Cwd}, p.AdditionalDirectories...) {
		if !filepath.IsAbs(dir) {
			return nil, jrpc2.Errorf(
				jrpc2.InvalidParams,
				"cwd and additionalDirectories must be absolute paths, got %.200q",
				dir,
			)
		}
		if dir = filepath.Clean(dir); !slices.Contains(roots, dir) {
			roots = append(roots, dir)
		}
	}
	return roots, nil
}
