package aggregate

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// route is a URI template and the server that has it.
type route struct {
	part     *part
	template string // the address of the template
	mark     string // its end, which the server's own template does not have
	match    *regexp.Regexp
	literal  int // bytes outside of its variables; the route with most wins
}

// newRoute returns the route of a template with an address; false: it can have none.
func newRoute(p *part, address, own string) (r route, ok bool) {
	match, literal := pattern(address)
	return route{p, address, strings.TrimPrefix(address, own), match, literal}, match != nil
}

func sortRoutes(list []route) {
	slices.SortFunc(list, func(a, b route) int {
		if a.literal != b.literal {
			return b.literal - a.literal
		}
		return strings.Compare(a.template, b.template)
	})
}

// pattern returns an expression for the URIs of a template (RFC 6570), and the bytes outside of
// its variables; nil: the template is malformed or too long.
func pattern(template string) (_ *regexp.Regexp, literal int) {
	var b strings.Builder
	b.WriteString(`\A`)
	for rest := template; rest != ""; {
		text, expression, ok := strings.Cut(rest, "{")
		b.WriteString(regexp.QuoteMeta(text))
		literal += len(text)
		if !ok {
			break
		}
		if expression, rest, ok = strings.Cut(expression, "}"); !ok || expression == "" {
			return nil, 0
		}
		switch expression[0] {
		case '+', '#':
			b.WriteString(`.*`)
		case '/':
			b.WriteString(`(?:/[^?#]*)?`)
		case '?', '&':
			b.WriteString(`(?:[?&][^#]*)?`)
		default:
			b.WriteString(`[^/?#]*`)
		}
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, 0 // it is too long
	}
	return re, literal
}

// owner returns the server of a URI, and the server's own form of it, as far as they are known; nil:
// they are not.
func (s *side) owner(uri string) (p *part, own string) {
	if r, ok := s.caller.uris.find(uri); ok {
		return s.partOf(r.server), r.name
	}
	if p, own := s.routed(uri); p != nil {
		return p, own
	}
	for _, p := range s.parts() {
		if own, ok := unmarked(uri, p.server.Name); ok {
			return p, own
		}
	}
	return nil, ""
}

// routed returns the server of a URI according to the templates, and the server's own form of it; nil:
// none matches.
func (s *side) routed(uri string) (p *part, own string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.routes {
		if r.template == uri || r.match.MatchString(uri) {
			return r.part, strings.TrimSuffix(uri, r.mark)
		}
	}
	return nil, ""
}

// locate is owner for a URI that is not known yet; if need be all servers are asked for their lists. If
// only one server has resources, it also gets the URIs that no list has. nil: the URI could be any
// server's.
func (s *side) locate(life, ctx context.Context, uri string) (p *part, own string) {
	agent := s.agent
	for _, k := range []kind{resourceList, templateList} {
		agent.look(life, k)
		s.put(k)
	}
	if p, own := s.owner(uri); p != nil {
		return p, own
	}
	for _, k := range []kind{resourceList, templateList} {
		s.gather(life, ctx, k)
	}
	if p, own := s.owner(uri); p != nil {
		return p, own
	}
	if _, known := s.caller.uris.find(uri); known {
		return nil, "" // its server is not there any more
	}
	var only *part
	for _, p := range s.parts()[1:] {
		if peer := p.running(); peer == nil || peer.Caps.Resources == nil {
			continue
		}
		if only != nil {
			return nil, ""
		}
		only = p
	}
	if only == nil {
		return agent, uri
	}
	return only, uri
}

// located passes a request about a resource to its server.
func (s *side) located(ctx context.Context, call *wire.Call, q request) {
	if q.uri == instructionsURI && call.Method == proto.MethodReadResource {
		s.readInstructions(call)
		return
	}
	if p, own := s.owner(q.uri); p != nil {
		s.toLocated(call, q.at(own), p)
		return
	}
	s.aside(func() {
		p, own := s.locate(ctx, call.Context(), q.uri)
		if p == nil {
			call.Reply(nil, s.noResource(q.uri))
			return
		}
		s.toLocated(call, q.at(own), p)
	})
}

// noResource returns the error for a resource that no server has.
func (s *side) noResource(uri string) error {
	code := jrpc2.Code(proto.CodeNoResource)
	if s.modern() {
		code = jrpc2.InvalidParams
	}
	return &jrpc2.Error{
		Code:    code,
		Message: "Resource not found",
		Data:    wire.JSON(map[string]string{"uri": uri}),
	}
}

func (s *side) toLocated(call *wire.Call, q request, p *part) {
	switch call.Method {
	case proto.MethodSubscribe:
		s.subscribe(call, q, p)
	case proto.MethodUnsubscribe:
		s.unsubscribe(call, q, p)
	default:
		if s.resumes(p, call, q, "", nil) {
			return
		}
		x := s.newPass(p, call, q)
		x.send()
	}
}

// complete passes a completion to the server of the prompt or resource.
func (s *side) complete(ctx context.Context, call *wire.Call, q request) {
	var about struct {
		Type string `json:"type"`
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	if json.Unmarshal(q.ref, &about) != nil {
		s.relay(s.agent, call, q) // it reports the error
		return
	}
	to := func(p *part, member, was, own string) {
		if own != was {
			q.params = wire.Edit(q.params, wire.Set("ref", wire.Edit(q.ref, wire.Set(member, wire.JSON(own)))))
		}
		x := s.newPass(p, call, q)
		x.send()
	}
	s.aside(func() {
		switch about.Type {
		case "ref/prompt":
			r, ok := s.find(promptList, about.Name)
			if !ok {
				s.gather(ctx, call.Context(), promptList)
				r, ok = s.find(promptList, about.Name)
			}
			if p := s.partOf(r.server); ok && p != nil {
				to(p, "name", about.Name, r.name)
				return
			}
		case "ref/resource":
			p, own := s.owner(about.URI)
			if p == nil {
				p, own = s.locate(ctx, call.Context(), about.URI)
			}
			if p != nil {
				to(p, "uri", about.URI, own)
				return
			}
		}
		s.relay(s.agent, call, q)
	})
}
