package aggregate

import (
	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
)

// consult shows the client's user the form of a ruling, and makes the call when they agree.
// It does not block.
func (s *side) consult(p *part, call *wire.Call, q request, own string, kept *upstream.Record, v upstream.Ruling) {
	s.busy.Add(1)
	s.caller.owned.Go(func() {
		defer s.busy.Add(-1)
		reply, err := s.askClient(call.Context(), p, proto.MethodElicit, v.Form)
		if call.Context().Err() != nil {
			kept.End(upstream.OutcomeRefused, 0)
			call.Reply(nil, wire.ErrCanceled)
			return
		}
		if err := p.view.Decided(v, reply, err); err != nil {
			kept.End(upstream.OutcomeRefused, 0)
			call.Reply(nil, err)
			return
		}
		s.toPart(p, call, q, own, kept)
	})
}
