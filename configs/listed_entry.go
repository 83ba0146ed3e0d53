package configs

import (
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/tailscale/hujson"

	"dragoman/configs/jsonc"
)

// serverEntry reads one server.
func serverEntry(l *entryList[MCPServer], m hujson.ObjectMember) listed[MCPServer] {
	fill := func(d *decoder, key string, s *MCPServer) {
		e := entryReader{l: l, d: d, key: key}
		d.value(e.object(jsonc.Object(m.Value), fieldsOf(reflect.TypeFor[MCPServer]()), key), reflect.ValueOf(s).Elem(), key, field{})
		e.finish(s)
	}
	return l.decode(m, true, fill, (*checker).server)
}

// entryReader reads the object of one server: it renames members to our settings, and leaves out
// unknown ones.
type entryReader struct {
	l   *entryList[MCPServer]
	d   *decoder
	key string

	kind    *hujson.Value // the member "type"
	enabled *hujson.Value
}

// foreignNames maps members of other programs to our settings, in addition to the aliases in
// tags.
var foreignNames = map[string]string{"serverUrl": "url", "httpUrl": "url"}

func (e *entryReader) object(o *hujson.Object, fields []field, key string) *ast.MappingNode {
	t := e.l.text
	n := ast.Mapping(t.token(hujson.Value{}, "{"), true)
	strange := map[string]bool{}
	for _, m := range o.Members {
		name := jsonc.Name(m)
		setting := settingOf(name, fields)
		kind := m.Value.Value.Kind()
		switch {
		case setting == "call_timeout" && kind == '0':
			e.warn(m, key, "is not read, because programs differ in its unit; write call_timeout, as in \"90s\"")
		case setting == "transport" && kind == '"':
			e.kind = &m.Value
		case setting == "oauth" && kind != '{': // other programs' form for requiring a login, or none
		case setting == "oauth":
			value := e.object(jsonc.Object(m.Value), fieldsOf(reflect.TypeFor[OAuth]()), join(key, setting))
			n.Values = append(n.Values, t.pair(setting, m.Name, value))
		case setting != "":
			n.Values = append(n.Values, t.pair(setting, m.Name, e.value(setting, m.Value)))
		case strange[name]:
			e.d.problems = append(e.d.problems, *t.wrong(m.Name, join(key, name), "duplicate member"))
		case name == "enabled" && key == e.key:
			e.enabled = &m.Value
		case name == "envFile":
			e.warn(m, key, "is not read; write its variables into env")
		default:
			e.near(m, fields, key)
		}
		strange[name] = setting == ""
	}
	return n
}

// value returns the value of a setting. Numbers and booleans become texts if the setting is a
// text.
func (e *entryReader) value(setting string, v hujson.Value) ast.Node {
	t := e.l.text
	word := func(v hujson.Value) ast.Node {
		if literal, ok := v.Value.(hujson.Literal); ok && literal.Kind() != 'n' {
			return t.text(v)
		}
		return t.node(v)
	}
	switch is := v.Value.(type) {
	case *hujson.Object:
		n := ast.Mapping(t.token(v, "{"), true)
		for _, m := range is.Members {
			if setting == "env" && m.Value.Value.Kind() == 'n' {
				continue // VS Code: the variable is not passed on, which is the default here
			}
			n.Values = append(n.Values, t.pair(jsonc.Name(m), m.Name, word(m.Value)))
		}
		return n
	case *hujson.Array:
		if setting == "args" {
			n := ast.Sequence(t.token(v, "["), true)
			for _, elem := range is.Elements {
				n.Values = append(n.Values, word(elem))
			}
			return n
		}
	}
	return t.node(v)
}

// near warns of a member that nearly matches one of ours. Others belong to other programs.
func (e *entryReader) near(m hujson.ObjectMember, fields []field, key string) {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	if more := DidYouMean(jsonc.Name(m), names); more != "" {
		e.warn(m, key, "is not read"+more)
	}
}

func (e *entryReader) warn(m hujson.ObjectMember, key, message string) {
	p := *e.l.text.wrong(m.Name, join(key, jsonc.Name(m)), message)
	e.l.warnings = append(e.l.warnings, e.l.asShown(p))
}

// finish adds the settings that follow from several members.
func (e *entryReader) finish(s *MCPServer) {
	wrong := func(at hujson.Value, name, message string) {
		e.d.problems = append(e.d.problems, *e.l.text.wrong(at, join(e.key, name), message))
	}
	if e.kind != nil {
		written := e.kind.Value.(hujson.Literal).String()
		program := false
		switch fold(written) {
		case "stdio":
			program = true
		case "http", "streamablehttp":
			s.Transport = "http"
		case "sse":
			s.Transport = "sse"
		default:
			wrong(*e.kind, "type", "must be stdio, http, streamable-http or sse, got "+quote(written))
			return
		}
		if s.Transport != "" {
			e.d.where[join(e.key, "transport")] = e.l.text.position(e.kind.StartOffset)
		}
		switch {
		case program && s.Command.IsZero() && !s.URL.IsZero():
			wrong(*e.kind, "type", "stdio starts a command, and there is a url")
		case !program && s.URL.IsZero() && !s.Command.IsZero():
			wrong(*e.kind, "type", quote(written)+" needs a url, and there is a command")
		}
	} else if s.Transport == "" {
		s.Transport = transportOf(s.URL)
	}
	if e.enabled != nil {
		switch e.enabled.Value.Kind() {
		case 't':
		case 'f':
			s.Disabled = true
		default:
			wrong(*e.enabled, "enabled", "must be true or false")
		}
	}
	s.leaveOwn()
}

// transportOf guesses the transport of an address without a type, as other programs do.
func transportOf(u URL) string {
	path, _, _ := strings.Cut(u.raw(), "?")
	if strings.HasSuffix(strings.TrimRight(path, "/"), "/sse") {
		return "sse"
	}
	return ""
}

// leaveOwn leaves ${NAME} to the program if it is one of the variables that the program gets:
// then it is a word of the program's own, as in mcp-remote --header 'Authorization: ${TOKEN}'.
func (s *MCPServer) leaveOwn() {
	for i, arg := range s.Args {
		parts, err := arg.split()
		if err != nil {
			continue
		}
		raw, own := "", false
		for _, p := range parts {
			_, given := s.Env[p.text]
			if given = given && p.short && p.or == nil; given || p.kind == "" {
				raw, own = raw+Literal(p.String()), own || given
			} else {
				raw += p.String()
			}
		}
		if own {
			s.Args[i].in = &content{raw, arg.from()}
		}
	}
}
