package aggregate

import (
	"context"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
	"dragoman/core/toolsearch"
)

// named passes tools/call and prompts/get to the server of the tool or prompt.
func (s *side) named(ctx context.Context, call *wire.Call, q request) {
	k := toolList
	if call.Method == proto.MethodGetPrompt {
		k = promptList
	}
	if k == toolList && s.searches() {
		switch q.name {
		case toolsearch.Search:
			s.search(ctx, call, q)
			return
		case toolsearch.Call:
			var err error
			if q, err = q.through(); err != nil {
				call.Reply(nil, err)
				return
			}
		}
	}
	if r, ok := s.find(k, q.name); ok {
		s.toNamed(ctx, call, q, k, r)
		return
	}
	if r, ok := s.heldBack(k, q.name); ok {
		s.toNamed(ctx, call, q, k, r)
		return
	}
	s.seek(ctx, call, q, k)
}

// heldBack finds a tool that is not listed because a user must agree to it first. No server needs to
// be asked for it, and calls are refused until then.
func (s *side) heldBack(k kind, name string) (ref, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.names[k].held[name]
	return r, ok
}

// seek is named for a name that is not known yet: the client may have it from an earlier session.
func (s *side) seek(ctx context.Context, call *wire.Call, q request, k kind) {
	s.aside(func() {
		s.agent.look(ctx, k)
		s.put(k)
		r, ok := s.find(k, q.name)
		if !ok {
			s.gather(ctx, call.Context(), k)
			r, ok = s.find(k, q.name)
		}
		if !ok {
			why := ""
			if notices := loginNotices(s.parts()); notices != "" {
				why = ". " + notices
			}
			call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams,
				"there is no %s %.100q%s", map[kind]string{toolList: "tool", promptList: "prompt"}[k], q.name, why))
			return
		}
		s.toNamed(ctx, call, q, k, r)
	})
}

func (s *side) find(k kind, name string) (ref, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[k].find(name)
}

func (s *side) toNamed(ctx context.Context, call *wire.Call, q request, k kind, r ref) {
	p := s.partOf(r.server)
	if p == nil {
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "the MCP server %s is not there any more", r.server))
		return
	}
	if k == promptList || p.agent() {
		s.toPart(p, call, q, r.name, nil)
		return
	}
	kept := p.export.Record(s.caller.of, s.program, r.name, len(q.params))
	q.judged = p.running() // first, so that the tools are known of this connection
	if p.view.Known() {
		s.ruled(p, call, q, r.name, kept)
		return
	}
	s.known(ctx, p, call, q, r, kept)
}

// known is toNamed for a server whose list is out of date.
func (s *side) known(ctx context.Context, p *part, call *wire.Call, q request, r ref, kept *upstream.Record) {
	s.aside(func() {
		if q.judged = p.lookForCall(ctx); q.judged == nil {
			kept.End(upstream.OutcomeRefused, 0)
			call.Reply(nil, p.unlisted(r.name))
			return
		}
		s.ruled(p, call, q, r.name, kept)
	})
}

// unlisted is the error for a call that cannot be judged.
func (p *part) unlisted(tool string) error {
	return jrpc2.Errorf(
		jrpc2.InternalError,
		"the MCP server %s did not list its tools, so %.100s cannot be checked",
		p.server.Name,
		tool,
	)
}

// ruled makes a call of a server's tool, unless it is refused. Where a rule demands it, the
// client's user is asked first. It does not block.
func (s *side) ruled(p *part, call *wire.Call, q request, own string, kept *upstream.Record) {
	asked := s.parkedCall(p, call.Method, q, own) != nil // it was judged then
	v, err := p.permits(own, q, asked)
	if err == nil && v.Resumed {
		judged := q.judged
		q, err = inspect(v.Params)
		q.judged = judged
	}
	if err == nil && asked {
		if s.resumes(p, call, q, own, kept) {
			return
		}
		err = errState // the waiting call has ended meanwhile
	}
	switch {
	case err != nil:
		kept.End(upstream.OutcomeRefused, 0)
		call.Reply(nil, err)
	case v.Reply != nil:
		kept.End(upstream.OutcomeOK, 0) // the next call records the outcome
		call.Reply(v.Reply, nil)
	case v.Form != nil:
		s.consult(p, call, q, own, kept, v)
	default:
		s.toPart(p, call, q, own, kept)
	}
}

// toPart passes a request to its server, under the server's own name for the tool or prompt.
func (s *side) toPart(p *part, call *wire.Call, q request, own string, kept *upstream.Record) {
	if s.resumes(p, call, q, own, kept) {
		return
	}
	x := s.newPass(p, call, q)
	x.own, x.kept = own, kept
	x.send()
}

// permits judges a call. It refuses calls in a loop of gateways.
func (p *part) permits(tool string, q request, asked bool) (upstream.Ruling, error) {
	s := p.side
	if q.hops >= maxHops {
		return upstream.Ruling{}, jrpc2.Errorf(jrpc2.InvalidRequest,
			"the call has passed %d gateways; it is taken to go round in a circle", q.hops)
	}
	if err := p.export.Usable(); err != nil {
		return upstream.Ruling{}, jrpc2.Errorf(jrpc2.InternalError,
			"the MCP server %s cannot be used: %v", p.server.Name, err)
	}
	return p.view.Rule(upstream.Call{
		Tool: tool, Params: q.params, Args: q.args, Offers: s.offers, Modern: s.modern(), Asked: asked,
	})
}

// consult shows a ruling's form to the client's user, and makes the call if they agree. It does
// not block.
func (s *side) consult(
	p *part,
	call *wire.Call,
	q request,
	own string,
	kept *upstream.Record,
	v upstream.Ruling,
) {
	s.aside(func() {
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
