package eca

import (
	"context"

	"dragoman/adapters/eca/refer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
)

// promptSteer handles chat/promptSteer: a message to the running turn. The client sees the user's
// text when the turn has taken it up. A message that no turn takes up is dropped, because the
// client sends it again after the turn's end.
func (s *Server) promptSteer(ctx context.Context, _ *wire.Call, p eca.SteerParams) error {
	c := s.chat(p.ChatID)
	if c == nil || p.Message == "" {
		return nil
	}
	c.queue.Go(func() {
		att := c.att.Load()
		if att == nil {
			return
		}
		d := refer.New(s.offered().Profile, s.opts.Principal, c.folders())
		if !att.Steer(d.Message(ctx, p.Message)) {
			s.log.Debug("nothing runs that could be steered")
		}
		if len(d.Told) > 0 {
			s.pump.Do(func() { c.showMessages(&pendingPrompt{told: d.Told}) })
		}
	})
	return nil
}

// promptSteerRemove handles chat/promptSteerRemove: it takes back messages of the client that no
// turn has taken up.
func (s *Server) promptSteerRemove(_ context.Context, _ *wire.Call, p eca.ChatParams) error {
	c := s.chat(p.ChatID)
	if c == nil {
		return nil
	}
	c.queue.Go(func() {
		if att := c.att.Load(); att != nil {
			att.Unsteer()
		}
	})
	return nil
}
