package acp

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/creachadair/jrpc2"
	"go.uber.org/zap"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/company"
	"dragoman/core/fork"
	"dragoman/core/forms"
)

// newSession handles session/new. An error in the configuration is reported here, where clients
// show it.
func (s *Server) newSession(ctx context.Context, call *wire.Call, p acp.SessionRequest) error {
	roots, e, err := s.opened(ctx, p)
	if err != nil {
		return err
	}
	if err := s.workable(roots); err != nil {
		return err
	}
	external := e.offer.external(Chosen{}) != ""
	if !external {
		if err := s.signedIn(ctx); err != nil {
			return err
		}
	}
	sess, err := s.opts.Gateway.Create(ctx, core.Meta{Principal: s.opts.Principal, Cwd: roots[0], Roots: roots})
	if err != nil {
		return err
	}
	// An external agent starts now: the answer has its options. Nobody knows the session yet.
	e.att = s.attach(sess, e)
	if external {
		err = s.opts.Gateway.Prepare(call.Context(), e.att)
	}
	if err != nil {
		e.att.Close()
		if gone := s.opts.Gateway.Delete(context.WithoutCancel(ctx), s.opts.Principal, sess.Meta().ID, core.Deletion{All: true}); gone != nil {
			s.log.Warn("the session of an agent that did not start stays", sessionField(sess.Meta().ID), zap.Error(gone))
		}
		return err
	}
	e.answer = func(r acp.SessionResponse) { call.Reply(r, nil) }
	s.add(ctx, sess, e)
	return nil
}

// opened checks the params that all requests for opening a session share.
func (s *Server) opened(ctx context.Context, p acp.SessionRequest) (roots []string, e entrance, err error) {
	if roots, err = rootsOf(p); err != nil {
		return nil, e, err
	}
	if e.servers, e.unknown, err = knownServers(p.MCPServers); err != nil {
		return nil, e, err
	}
	if e.system, err = systemOf(p.SystemPrompt); err != nil {
		return nil, e, err
	}
	prof, err := s.opts.Gateway.Profile(ctx, s.opts.Profiles, roots)
	if err != nil {
		return nil, e, err
	}
	e.offer = NewOffer(prof, bool(s.who().caps.Session.ConfigOptions.Boolean) && !s.known().Strings)
	return roots, e, nil
}

// workable refuses the folders of a new session that cannot be worked in. The folders of a session
// that is opened again are not checked: its conversation can be read without them.
func (s *Server) workable(roots []string) error {
	if s.opts.Folder == nil {
		return nil
	}
	for _, dir := range roots {
		if err := s.opts.Folder(dir); err != nil {
			return jrpc2.Errorf(jrpc2.InvalidParams, "session/new: %v", err)
		}
	}
	return nil
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
	roots, e, err := s.opened(ctx, p)
	if err != nil {
		return err
	}
	sess, err := s.open(ctx, p.SessionID, replay)
	if err != nil {
		return err
	}
	e.after, e.replay, e.foreign = sess.Head(), replay, beyond(sess.Meta().Roots, roots)
	e.answer = func(r acp.SessionResponse) {
		r.SessionID = ""
		call.Reply(r, nil)
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
	if s.shownAsChild(id) {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "session %.60s belongs to a task that is running; its updates come with its parent's session", id)
	}
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
	_, e, err := s.opened(ctx, p)
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
	e.head = sess.Head()
	e.after, e.missing = e.head, from.State().Missing
	e.answer = func(r acp.SessionResponse) { call.Reply(r, nil) }
	s.add(ctx, sess, e)
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

// deleteSession handles session/delete. It is idempotent. If others are attached, the user decides.
func (s *Server) deleteSession(ctx context.Context, call *wire.Call, p acp.SessionID) error {
	agreed, err := s.agreed(call, p.SessionID)
	if err != nil {
		return err
	}
	s.letGo(p.SessionID, func(sess *session) {
		var head core.Pos
		if sess != nil {
			head = sess.att.Head()
			sess.att.Close()
		}
		err := s.opts.Gateway.Delete(ctx, s.opts.Principal, core.SessionID(p.SessionID), core.Deletion{All: agreed})
		if err == nil {
			call.Reply(acp.Marker{}, nil)
			return
		}
		fail := func() { call.Reply(nil, wireError(err)) }
		if sess == nil {
			fail()
			return
		}
		s.keep(ctx, sess, head, fail)
	})
	return nil
}

// agreed reports whether the user has agreed to delete a session to which other clients are attached.
func (s *Server) agreed(call *wire.Call, id string) (bool, error) {
	d := core.Deletion{Check: true}
	if sess, err := s.session(id); err == nil {
		d.By = sess.att.Client().ID
	}
	err := s.opts.Gateway.Delete(call.Context(), s.opts.Principal, core.SessionID(id), d)
	var attended *core.AttendedError
	if !errors.As(err, &attended) {
		return false, err
	}
	if !s.who().caps.Elicitation.Form {
		return false, company.Kept(attended)
	}
	question := company.Deletion(attended)
	req := Elicitation(&View{}, question)
	req.RequestID = call.ID
	var res acp.ElicitationResponse
	if err := s.conn.Ask(call.Context(), "elicitation/create", req, &res); err != nil {
		return false, err
	}
	if res.Action != "accept" || !company.Deletes(forms.Of(question).ReplyTo(res.Content)) {
		return false, jrpc2.Errorf(acp.CodeCancelled, "session %.60s was kept", id)
	}
	return true, nil
}

// keep brings a session that could not be deleted back onto the connection, and then calls then.
func (s *Server) keep(ctx context.Context, sess *session, head core.Pos, then func()) {
	cs, err := s.opts.Gateway.Open(ctx, s.opts.Principal, sess.id)
	if err != nil {
		then()
		return
	}
	s.add(ctx, cs, entrance{
		after: head, head: head, servers: sess.servers, offer: sess.offer.Load(),
		answer: func(acp.SessionResponse) { then() },
	})
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
