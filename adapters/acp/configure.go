package acp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/board"
)

// setMode handles session/set_mode.
func (s *Server) setMode(call *wire.Call, p acp.SetModeRequest) error {
	return s.choose(call, p.SessionID, optionAgent, quoted(p.ModeID), done)
}

// setModel handles session/set_model, which is no longer in the schema but which clients still
// send.
func (s *Server) setModel(call *wire.Call, p acp.SetModelRequest) error {
	return s.choose(call, p.SessionID, optionModel, quoted(p.ModelID), done)
}

// done returns an answer that does not repeat the choice.
func done(*Offer, core.Settings) any { return acp.Marker{} }

// setOption handles session/set_config_option.
func (s *Server) setOption(call *wire.Call, p acp.SetConfigOptionRequest) error {
	return s.choose(call, p.SessionID, p.ConfigID, p.Value, func(o *Offer, set core.Settings) any {
		return acp.SetConfigOptionResponse{ConfigOptions: o.options(set)}
	})
}

func quoted(s string) json.RawMessage { return wire.AppendString(nil, s) }

// choose changes one option of a session. The encoder announces the other forms of the choice
// from the log, before the answer, and likewise changes by others.
func (s *Server) choose(
	call *wire.Call,
	id, option string,
	value json.RawMessage,
	answer func(*Offer, core.Settings) any,
) error {
	sess, err := s.session(id)
	if err != nil {
		return err
	}
	sess.queue.Go(func() {
		ctx := context.Background()
		o := sess.refresh(ctx)
		set, err := o.set(sess.att.State().Settings, option, value)
		if err == nil {
			err = sess.att.Set(ctx, set)
		}
		if err != nil {
			call.Reply(nil, wireError(err))
			return
		}
		sess.after(sess.att.Head(), func() { call.Reply(answer(o, set), nil) })
	})
	return nil
}

// refresh reads the configuration again; if it has changed, the client is notified of the new
// offer. It belongs to the session's queue.
func (s *session) refresh(ctx context.Context) *Offer {
	o := s.offer.Load()
	prof, err := s.srv.opts.Gateway.Profile(ctx, s.srv.opts.Profiles, s.att.Meta().Roots)
	if err != nil || prof == o.profile {
		return o // the error is reported when a turn needs the configuration
	}
	fault := ""
	if prof.Fault != o.profile.Fault {
		fault = prof.Fault
	}
	o = NewOffer(prof, o.boolean)
	s.offer.Store(o)
	s.send(func(v *View) []byte {
		v.Offer = o
		return update(nil, v, optionsUpdate(v))
	})
	s.warn(fault)
	s.sendCommands(ctx)
	return o
}

// warn shows the user a text that is not in the log; the empty text shows nothing.
func (s *session) warn(text string) {
	if text != "" {
		s.send(func(v *View) []byte { return notice(nil, v, core.Notice{Severity: core.Warning, Text: text}) })
	}
}

// send writes updates that come from no record, after a replay in progress, if the client has the
// session then.
func (s *session) send(updates func(*View) []byte) {
	f := s.srv.current(s).feed
	s.srv.pump.Do(func() {
		f.when(f.view.Head, func() {
			if f.over {
				return
			}
			f.view.replay = false
			// Nobody reads after the connection has ended.
			_ = s.srv.conn.PutLines(updates(f.view))
		})
	})
}

// watch refreshes the sessions when the board announces a new offer or other prompts of MCP
// servers, until ctx ends.
func (s *Server) watch(ctx context.Context) {
	for since := uint64(0); ; {
		posted, rev, err := s.opts.Board.Next(ctx, since)
		if err != nil {
			return
		}
		since = rev
		for _, p := range posted {
			switch item := p.Item.(type) {
			case board.Models, board.Agents:
				s.refreshAll(ctx, p.Topic.Workspace)
				s.sendAuthStatus(ctx)
			case board.Account:
				s.sendAuthStatus(ctx)
			case board.Server:
				s.each(func(sess *session) {
					sess.sendChangedCommands(ctx)
					if p.Topic.Principal == s.opts.Principal { // a server that a client brought
						sess.warnOfFailure(item)
					}
				})
			case board.Gone:
				if p.Topic.Kind == "server" {
					s.each(func(sess *session) { sess.sendChangedCommands(ctx) })
				}
			case board.Commands:
				if sess, err := s.session(p.Topic.Name); err == nil {
					sess.queue.Go(func() { sess.sendChangedCommands(ctx) })
				}
			case board.Session, board.Job:
			}
		}
	}
}

// each calls do for every session, in the session's own queue.
func (s *Server) each(do func(*session)) {
	s.mu.Lock()
	list := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	for _, sess := range list {
		sess.queue.Go(func() { do(sess) })
	}
}

func (s *Server) refreshAll(ctx context.Context, workspace string) {
	s.each(func(sess *session) {
		if workspace == "" || slices.Contains(sess.att.Meta().Roots, workspace) {
			sess.refresh(ctx)
		}
	})
}
