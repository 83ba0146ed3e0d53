package eca

import (
	"context"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
)

// promptSteer is chat/promptSteer: something is said to the turn that runs. The
// client sees the user's text when the turn has taken it up; what no turn takes is
// dropped, for the client says it again behind the turn's end.
func (s *Server) promptSteer(_ context.Context, _ *wire.Call, p eca.SteerParams) error {
	blocks := blocksOf(eca.PromptParams{Message: p.Message})
	c := s.chat(p.ChatID)
	if c == nil || len(blocks) == 0 {
		return nil
	}
	c.queue.Go(func() {
		if att := c.att.Load(); att != nil && !att.Steer(blocks) {
			s.log.Debug("nothing runs that could be steered")
		}
	})
	return nil
}

// promptSteerRemove is chat/promptSteerRemove: what the client said and no turn has
// taken up is taken back.
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
