package acp

import (
	"context"
	"encoding/base64"
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// page is how many sessions one answer lists.
const page = 100

// session is one session on this connection.
type session struct {
	srv     *Server
	att     *core.Attachment
	queue   *pump.Queue
	prompts *pump.Prompts
	feed    *feed
	told    bool // the commands, with a prompt; of the reading goroutine alone
}

// feed is the session's side in the pump. All of it belongs to the pump's
// goroutine.
type feed struct {
	sess *session
	view *View
	pos  core.Pos // how far the client has come
	// loaded answers session/load once the replay is out; nil: answered.
	loaded func()
	asked  map[core.AskID]*wire.Asked
}

var _ pump.Feed = (*feed)(nil)

// Encode implements pump.Feed.
func (f *feed) Encode(dst []byte, r core.Record) ([]byte, func()) {
	dst = Encode(dst, f.view, r)
	if _, ok := r.Event.(core.Answered); ok {
		return dst, f.ask // a request that is open is withdrawn before the turn ends
	}
	return dst, f.sess.prompts.After(r.Event)
}

// Caught implements pump.Feed.
func (f *feed) Caught(pos core.Pos) {
	f.pos = pos
	if f.loaded != nil && !pos.Before(f.view.Head) {
		f.loaded()
		f.loaded = nil
	}
	f.ask()
}

// retire ends a feed whose place another one takes.
func (f *feed) retire() {
	f.withdrawAll()
	if f.loaded != nil {
		f.loaded()
		f.loaded = nil
	}
}

// Lost implements pump.Feed.
func (f *feed) Lost(err error) {
	f.sess.srv.log.Error("session can no longer be read", sessionField(f.view.Session), errorField(err))
	f.sess.prompts.Abandon(core.TurnEnded{Stop: core.StopError, Err: "the connection to this session was lost: " + err.Error()})
	if f.loaded != nil {
		f.loaded()
		f.loaded = nil
	}
}

// newSession is session/new. A configuration that is wrong is said here, where
// clients show it.
func (s *Server) newSession(ctx context.Context, call *wire.Call, p acp.SessionRequest) error {
	roots, err := rootsOf(p)
	if err != nil {
		return err
	}
	if _, err := s.opts.Gateway.Profile(ctx, roots); err != nil {
		return err
	}
	sess, err := s.opts.Gateway.Create(ctx, core.Meta{Cwd: roots[0], Roots: roots})
	if err != nil {
		return err
	}
	id := sess.Meta().ID
	s.add(ctx, sess, core.Pos{}, core.Pos{}, func() { call.Reply(acp.NewSessionResponse{SessionID: string(id)}, nil) }, nil)
	return nil
}

// loadSession is session/load: the whole replay goes before the answer.
func (s *Server) loadSession(ctx context.Context, call *wire.Call, p acp.SessionRequest) error {
	return s.reopen(ctx, call, p, true)
}

// resumeSession is session/resume: nothing is replayed.
func (s *Server) resumeSession(ctx context.Context, call *wire.Call, p acp.SessionRequest) error {
	return s.reopen(ctx, call, p, false)
}

func (s *Server) reopen(ctx context.Context, call *wire.Call, p acp.SessionRequest, replay bool) error {
	roots, err := rootsOf(p)
	if err != nil {
		return err
	}
	if _, err := s.opts.Gateway.Profile(ctx, roots); err != nil {
		return err
	}
	sess, err := s.open(ctx, p.SessionID, replay)
	if errors.Is(err, core.ErrNotFound) {
		return notFound(p.SessionID)
	} else if err != nil {
		return err
	}
	answer := func() { call.Reply(struct{}{}, nil) }
	head := sess.Head()
	if replay {
		s.add(ctx, sess, core.Pos{}, head, nil, answer)
	} else {
		s.add(ctx, sess, head, head, answer, nil)
	}
	return nil
}

// open opens a session. With replay nothing is said any more of one that the client
// has here already, for all of that stands in the replay.
func (s *Server) open(ctx context.Context, id string, replay bool) (*core.Session, error) {
	old, err := s.session(id)
	here := err == nil && replay
	if here {
		s.pump.Remove(old.feed)
	}
	sess, err := s.opts.Gateway.Open(ctx, core.Local, core.SessionID(id))
	if err != nil && here {
		s.pump.Do(func() { s.pump.Add(old.att, old.feed.pos, old.feed, nil) }) // as it was
	}
	return sess, err
}

// add attaches this connection to a session and begins to serve it. first is done
// before the first record, loaded behind the replay.
func (s *Server) add(ctx context.Context, cs *core.Session, after, head core.Pos, first, loaded func()) {
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	sess := &session{srv: s, att: cs.Attach(client), queue: pump.NewQueue(&s.wg), prompts: &pump.Prompts{}}
	spare := sess.att // the attachment that is not needed
	id := cs.Meta().ID
	s.mu.Lock()
	old := s.sessions[id]
	again := old != nil && loaded == nil && old.att.Session() == cs
	if old != nil { // loaded again: what runs goes on, the client sees everything anew
		sess.queue, sess.prompts = old.queue, old.prompts
		if old.att.Session() == cs {
			sess.att = old.att
		} else { // the old one could not be stored, or was closed
			spare = old.att
		}
	}
	if !again {
		sess.feed = &feed{sess: sess, view: NewView(id, sess.prompts.Prefix(), head), loaded: loaded, asked: map[core.AskID]*wire.Asked{}}
		s.sessions[id] = sess
	}
	s.mu.Unlock()
	if old != nil {
		spare.Close()
	}
	if again { // resumed again: there is nothing to do
		s.pump.Do(first)
		return
	}
	if old != nil {
		s.pump.Remove(old.feed)
		s.pump.Do(old.feed.retire)
	}
	s.pump.Add(sess.att, after, sess.feed, first)
	s.pump.Do(func() { sess.tellCommands(ctx, commandsAfter) })
}

// leave stops what runs for this connection and detaches.
func (s *session) leave() {
	s.srv.pump.Remove(s.feed)
	s.prompts.Stop(core.ErrClientGone)
	s.att.Close()
}

// closeSession is session/close: what runs is cancelled. It is idempotent.
func (s *Server) closeSession(_ context.Context, call *wire.Call, p acp.SessionID) error {
	s.mu.Lock()
	sess := s.sessions[core.SessionID(p.SessionID)]
	delete(s.sessions, core.SessionID(p.SessionID))
	s.mu.Unlock()
	if sess == nil {
		call.Reply(struct{}{}, nil)
		return nil
	}
	sess.prompts.Cancel()
	sess.queue.Go(func() {
		// Behind the end of every turn, so that their prompts are answered first.
		s.pump.Do(func() { sess.closeWhenDone(call) })
	})
	return nil
}

// closeWhenDone detaches as soon as every prompt has been answered.
func (s *session) closeWhenDone(call *wire.Call) {
	s.prompts.WhenNone(func() {
		s.srv.pump.Do(func() {
			s.feed.withdrawAll()
			s.srv.pump.Remove(s.feed)
			s.att.Close()
			call.Reply(struct{}{}, nil)
		})
	})
}

// deleteSession is session/delete. It is idempotent.
func (s *Server) deleteSession(ctx context.Context, call *wire.Call, p acp.SessionID) error {
	s.mu.Lock()
	sess := s.sessions[core.SessionID(p.SessionID)]
	delete(s.sessions, core.SessionID(p.SessionID))
	s.mu.Unlock()
	finish := func() {
		if err := s.opts.Gateway.Delete(ctx, core.Local, core.SessionID(p.SessionID)); err != nil {
			call.Reply(nil, wireError(err))
			return
		}
		call.Reply(struct{}{}, nil)
	}
	if sess == nil {
		finish()
		return nil
	}
	sess.prompts.Cancel()
	sess.queue.Go(func() {
		sess.prompts.WhenNone(func() {
			s.pump.Do(func() {
				sess.feed.withdrawAll()
				s.pump.Remove(sess.feed)
			})
			sess.queue.Go(func() {
				sess.att.Close()
				finish()
			})
		})
	})
	return nil
}

// listSessions is session/list: those with a conversation in them, last used
// first.
func (s *Server) listSessions(ctx context.Context, call *wire.Call, p acp.ListRequest) error {
	skip, err := cursor(p.Cursor)
	if err != nil {
		return err
	}
	res := acp.ListResponse{Sessions: []acp.SessionInfo{}}
	n := 0
	for sum, err := range s.opts.Gateway.List(ctx, core.Local) {
		if err != nil {
			return err
		}
		if sum.Parent != "" || sum.Messages == 0 || p.Cwd != nil && filepath.Clean(*p.Cwd) != filepath.Clean(sum.Cwd) {
			continue
		}
		if n++; n <= skip {
			continue
		}
		if len(res.Sessions) == page {
			res.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(skip + page)))
			break
		}
		res.Sessions = append(res.Sessions, infoOf(sum))
	}
	call.Reply(res, nil)
	return nil
}

func infoOf(sum core.Summary) acp.SessionInfo {
	info := acp.SessionInfo{SessionID: string(sum.ID), Cwd: sum.Cwd, Title: sum.Title}
	if !sum.Updated.IsZero() {
		info.UpdatedAt = sum.Updated.UTC().Format(time.RFC3339)
	}
	for _, root := range sum.Roots {
		if root != sum.Cwd {
			info.AdditionalDirectories = append(info.AdditionalDirectories, root)
		}
	}
	return info
}

func cursor(c *string) (int, error) {
	if c == nil || *c == "" {
		return 0, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(*c)
	n, numErr := strconv.Atoi(string(b))
	if err != nil || numErr != nil || n < 0 {
		return 0, jrpc2.Errorf(jrpc2.InvalidParams, "cursor: %.60q is not one that session/list gave out", *c)
	}
	return n, nil
}

// rootsOf is the working directory and what is added to it.
func rootsOf(p acp.SessionRequest) ([]string, error) {
	var roots []string
	for _, dir := range append([]string{p.Cwd}, p.AdditionalDirectories...) {
		if !filepath.IsAbs(dir) {
			return nil, jrpc2.Errorf(jrpc2.InvalidParams, "cwd and additionalDirectories must be absolute paths, got %.200q", dir)
		}
		roots = append(roots, filepath.Clean(dir))
	}
	return roots, nil
}
