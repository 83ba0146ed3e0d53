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
	"dragoman/core/jsonscan"
)

// setMode handles session/set_mode.
func (s *Server) setMode(call *wire.Call, p acp.SetModeRequest) error {
	return s.choose(call, p.SessionID, (*Offer).modeOption, quoted(p.ModeID), done)
}

// setModel handles session/set_model, which is no longer in the schema but which clients still
// send.
func (s *Server) setModel(call *wire.Call, p acp.SetModelRequest) error {
	return s.choose(call, p.SessionID, (*Offer).modelOption, quoted(p.ModelID), done)
}

// done returns an answer that does not repeat the choice.
func done(*View) any { return acp.Marker{} }

// setOption handles session/set_config_option.
func (s *Server) setOption(call *wire.Call, p acp.SetConfigOptionRequest) error {
	this := func(*Offer, Chosen) string { return p.ConfigID }
	return s.choose(call, p.SessionID, this, p.Value, func(v *View) any {
		return acp.SetConfigOptionResponse{ConfigOptions: v.Offer.options(v.Now)}
	})
}

func quoted(s string) json.RawMessage { return jsonscan.AppendString(nil, s) }

// choose changes one option of a session. The encoder announces the other forms of the choice
// from the log, before the answer, and likewise changes by others.
func (s *Server) choose(
	call *wire.Call,
	id string,
	option func(*Offer, Chosen) string,
	value json.RawMessage,
	answer func(*View) any,
) error {
	sess, err := s.session(id)
	if err != nil {
		return err
	}
	finish := func(err error) {
		f := s.current(sess).feed
		sess.after(sess.att.Head(), func() {
			if err != nil {
				call.Reply(nil, s.wireError(err))
				return
			}
			call.Reply(answer(f.view), nil)
		})
	}
	sess.queue.Go(func() {
		ctx := context.Background()
		o := sess.refresh(ctx)
		now := chosen(sess.att.State())
		c, err := o.selection(now, option(o, now), value)
		after := Chosen{c.set, now.Offered}
		switch {
		case err != nil:
		case c.own != "":
			sess.choices.Go(func() { finish(s.opts.Gateway.Choose(call.Context(), sess.att, c.own, c.value)) })
			return
		case o.agent(c.set) != o.agent(now.Settings) && o.external(after) != "":
			sess.choices.Go(func() { finish(sess.changeAgent(call.Context(), c.set)) })
			return
		default:
			err = sess.att.Set(ctx, c.set)
		}
		finish(err)
	})
	return nil
}

// changeAgent changes to an external agent and starts it, so that its options are known. If it does not
// start, the session keeps its agent. It may wait for long.
func (s *session) changeAgent(ctx context.Context, set core.Settings) error {
	was := s.att.State().Settings
	if err := s.att.Set(ctx, set); err != nil {
		return err
	}
	err := s.srv.opts.Gateway.Prepare(ctx, s.att)
	if err == nil {
		return nil
	}
	if now := s.att.State().Settings; now.Agent == set.Agent {
		now.Agent = was.Agent
		if err := s.att.Set(context.WithoutCancel(ctx), now); err != nil {
			return err
		}
	}
	return err
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
				switch p.Topic.Kind {
				case "server":
					s.each(func(sess *session) { sess.sendChangedCommands(ctx) })
				case "session":
					s.gone(p.Topic.Name)
				}
			case board.Commands:
				if sess, err := s.session(p.Topic.Name); err == nil {
					sess.queue.Go(func() { sess.sendChangedCommands(ctx) })
				}
			case board.Present:
				if sess, err := s.session(p.Topic.Name); err == nil {
					s.pump.Do(func() { sess.feed.present(item.Clients) })
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
