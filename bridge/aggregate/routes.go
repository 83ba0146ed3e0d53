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

// route is a template of URIs, and whose it is.
type route struct {
	part     *part
	template string
	match    *regexp.Regexp
	literal  int // how much of it is no variable: more is a closer match
}

func routesOf(owners map[string]*part) []route {
	var list []route
	for template, p := range owners {
		match, literal := pattern(template)
		if match != nil {
			list = append(list, route{p, template, match, literal})
		}
	}
	slices.SortFunc(list, func(a, b route) int {
		if a.literal != b.literal {
			return b.literal - a.literal
		}
		return strings.Compare(a.template, b.template)
	})
	return list
}

// pattern is what a URI template (RFC 6570) can become; nil: it is none.
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

// owner is whose a URI is, as far as the lists say.
func (s *side) owner(uri string) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.uris[uri]; p != nil {
		return p
	}
	for _, r := range s.routes {
		if r.template == uri || r.match.MatchString(uri) {
			return r.part
		}
	}
	return nil
}

// locate finds whose a URI is, if need be by listing what all have. Where one server
// alone has resources, those that it does not list are its as well. nil: nobody's.
func (s *side) locate(life, ctx context.Context, uri string) *part {
	agent := s.agent
	for _, k := range []kind{resourceList, templateList} {
		agent.look(life, k)
		s.put(k)
	}
	if p := s.owner(uri); p != nil {
		return p
	}
	for _, k := range []kind{resourceList, templateList} {
		s.gather(life, ctx, k)
	}
	if p := s.owner(uri); p != nil {
		return p
	}
	var only *part
	for _, p := range s.parts()[1:] {
		if peer := p.running(); peer == nil || peer.Caps.Resources == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = p
	}
	if only == nil {
		return agent
	}
	return only
}

// located relays what is about a resource to whose it is.
func (s *side) located(ctx context.Context, call *wire.Call, q request) {
	if p := s.owner(q.uri); p != nil {
		s.toLocated(call, q, p)
		return
	}
	s.aside(func() {
		p := s.locate(ctx, call.Context(), q.uri)
		if p == nil {
			call.Reply(nil, s.noResource(q.uri))
			return
		}
		s.toLocated(call, q, p)
	})
}

// noResource is the error for a resource that nobody has.
func (s *side) noResource(uri string) error {
	code := jrpc2.Code(proto.CodeNoResource)
	if s.modern() {
		code = jrpc2.InvalidParams
	}
	return &jrpc2.Error{Code: code, Message: "Resource not found", Data: wire.JSON(map[string]string{"uri": uri})}
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

// complete relays a completion to whose prompt, or resource, it is for.
func (s *side) complete(ctx context.Context, call *wire.Call, q request) {
	var about struct {
		Type string `json:"type"`
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	if json.Unmarshal(q.ref, &about) != nil {
		s.relay(s.agent, call, q) // which says what is wrong
		return
	}
	to := func(p *part, own string) {
		if own != "" && own != about.Name {
			q.params = wire.Edit(q.params, wire.Set("ref", wire.Edit(q.ref, wire.Set("name", wire.JSON(own)))))
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
				to(p, r.name)
				return
			}
		case "ref/resource":
			p := s.owner(about.URI)
			if p == nil {
				p = s.locate(ctx, call.Context(), about.URI)
			}
			if p != nil {
				to(p, "")
				return
			}
		}
		s.relay(s.agent, call, q)
	})
}
