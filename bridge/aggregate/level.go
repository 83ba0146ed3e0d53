package aggregate

import (
	"context"
	"encoding/json"
	"sync"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
)

// level is a log level that a server was given, on a connection.
type level struct {
	peer    *upstream.Peer
	name    string
	settled <-chan struct{} // closed when the server has answered, or has not for too long
}

// isSettled reports whether calls may follow.
func (l level) isSettled() bool {
	select {
	case <-l.settled:
		return true
	default:
		return false
	}
}

// hasLevel reports whether a server has a log level, or none can be set.
func (p *part) hasLevel(peer *upstream.Peer, name string) bool {
	if name == "" || peer.Modern() || peer.Caps.Logging == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.level.peer == peer && p.level.name == name && p.level.isSettled()
}

// setLevel sets the log level of a server and waits for its answer, but not longer than the grace of
// the upstream.Box: over HTTP, a call that is sent before the answer may come first.
func (p *part) setLevel(ctx context.Context, peer *upstream.Peer, name string) {
	for !p.hasLevel(peer, name) && ctx.Err() == nil {
		l, settle := p.nextLevel(ctx, peer, name)
		if settle != nil {
			_, err := peer.Conn.Start(proto.MethodSetLevel, wire.JSON(map[string]string{"level": name}),
				func(json.RawMessage, error) { settle() })
			if err != nil { // the peer's end is handled elsewhere
				settle()
			}
		}
		select {
		case <-l.settled:
		case <-ctx.Done():
		}
	}
}

// nextLevel notes that a server is given a log level, which settle settles. While an earlier one is
// not settled, it returns that one, and nil.
func (p *part) nextLevel(
	ctx context.Context, peer *upstream.Peer, name string,
) (l level, settle func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.level.peer == peer && !p.level.isSettled() {
		return p.level, nil
	}
	within, settle := context.WithTimeout(context.WithoutCancel(ctx), p.box().Grace())
	p.level = level{peer, name, within.Done()}
	return p.level, settle
}

// logLevel returns the log level that the client has set; "": none.
func (s *side) logLevel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// setLevel sets the log level of all servers, if our agent accepts it. The client is answered when
// the servers that run have it.
func (s *side) setLevel(call *wire.Call, q request) {
	s.aside(func() {
		var p struct {
			Level string `json:"level"`
		}
		_ = json.Unmarshal(q.params, &p) // the agent reports errors
		ctx := call.Context()
		var res json.RawMessage
		agent, err := s.agent.acquire(ctx, false)
		if err == nil {
			err = agent.Conn.Ask(ctx, call.Method, orNothing(q.params), &res)
		}
		if err != nil {
			call.Reply(nil, s.agent.wrong(err))
			return
		}
		s.mu.Lock()
		s.level = p.Level
		s.mu.Unlock()
		var told sync.WaitGroup
		for _, part := range s.parts()[1:] {
			if peer := part.running(); peer != nil {
				told.Go(func() { part.setLevel(ctx, peer, p.Level) })
			}
		}
		told.Wait()
		call.Reply(wire.ValidJSON(res), nil)
	})
}
