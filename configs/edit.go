package configs

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// An Edit is one change of what a configuration file says of MCP servers. The file
// keeps every byte of everything else: comments, order, formatting.
type Edit struct {
	name  string
	apply func(t *source, now *Config) error
	want  func(now *Config) *MCPServer // what stands there afterwards; nil: nothing does
}

// AddServer writes an entry below mcp_servers. A name that is there already is an
// error. What s holds is written as it is, references and secrets too; what is empty,
// or a default, is left out.
func AddServer(name string, s MCPServer) Edit {
	e := PutServer(name, s)
	put := e.apply
	e.apply = func(t *source, now *Config) error {
		if _, taken := now.MCPServers[name]; taken {
			return wrong(serverKey(name), now, "is there already")
		}
		return put(t, now)
	}
	return e
}

// PutServer is AddServer, but changes an entry that is there into s. Of such a one
// what stays the same keeps its text and its comments.
func PutServer(name string, s MCPServer) Edit {
	return Edit{
		name: name,
		want: func(*Config) *MCPServer { return &s },
		apply: func(t *source, now *Config) error {
			if message := badName("name", name); message != "" {
				return wrong(serverKey(name), now, message)
			}
			path := []string{serversKey, name}
			was, there := now.MCPServers[name]
			if !there {
				return t.set(path, treeOf(s))
			}
			next := *t
			if err := next.change(path, treeOf(was), treeOf(s)); err == nil && next.means(name, s) {
				*t = next
				return nil
			}
			return t.set(path, treeOf(s)) // as a whole: it is shared with others, or holds what is wrong
		},
	}
}

// DropServer removes an entry. A name that is not there is an error.
func DropServer(name string) Edit {
	return Edit{
		name: name,
		want: func(*Config) *MCPServer { return nil },
		apply: func(t *source, now *Config) error {
			if _, there := now.MCPServers[name]; !there {
				return noSuchServer(name, now)
			}
			return t.unset([]string{serversKey, name})
		},
	}
}

// DisableServer says whether a server is left alone. A name that is not there is an
// error.
func DisableServer(name string, disabled bool) Edit {
	want := func(now *Config) *MCPServer {
		s := now.MCPServers[name]
		s.Disabled = disabled
		return &s
	}
	return Edit{name: name, want: want, apply: func(t *source, now *Config) error {
		s, there := now.MCPServers[name]
		switch {
		case !there:
			return noSuchServer(name, now)
		case s.Disabled == disabled:
			return nil
		}
		return t.set(
			[]string{serversKey, name, "disabled"},
			scalar{text: map[bool]string{true: "true", false: "false"}[disabled]},
		)
	}}
}

const serversKey = "mcp_servers"

func serverKey(name string) string { return join(serversKey, name) }

func wrong(key string, now *Config, message string) error {
	return &Error{Problems: []Problem{{Position: now.near(key), Key: key, Message: message}}}
}

func noSuchServer(name string, now *Config) error {
	names := slices.Sorted(maps.Keys(now.MCPServers))
	return &Error{
		Problems: []Problem{
			{
				Position: Position{File: now.Source},
				Key:      serverKey(name),
				Message:  "is not in this file" + DidYouMean(name, names),
			},
		},
	}
}

// Apply returns the text of a configuration file with edits made, one after the
// other. file stands for it in messages; below is the layer that the editor set, or
// nil. The error is an *Error: the text is wrong, or would be, or an edit would change
// more than its entry.
func Apply(file string, text []byte, below *Config, edits ...Edit) ([]byte, error) {
	t := &source{file: file}
	now, _, err := t.read(text)
	if err != nil {
		return nil, err
	}
	if before, _, lone := strings.Cut(strings.ReplaceAll(t.text, "\r\n", "\n"), "\r"); lone {
		at := Position{
			File:   file,
			Line:   strings.Count(before, "\n") + 1,
			Column: utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
		}
		return nil, &Error{
			Problems: []Problem{
				{Position: at, Message: "a line ends with a carriage return alone; save the file with other line ends"},
			},
		}
	}
	was := t.problems(below)
	for _, e := range edits {
		if err := e.apply(t, now); err != nil {
			return nil, err
		}
		if now, err = t.check(now, e); err != nil {
			return nil, err
		}
	}
	if err := blame(file, was, t.problems(below)); err != nil {
		return nil, err
	}
	return t.bytes(), nil
}

// check reads the text after an edit and makes sure that nothing but its entry says
// something else than before.
func (t *source) check(was *Config, e Edit) (*Config, error) {
	now, _, err := t.read(t.bytes())
	switch {
	case err != nil || !sameElsewhere(was, now, e.name):
		return nil, wrong(serverKey(e.name), was, notAlone)
	case !sameAs(now.server(e.name), e.want(was)):
		return nil, wrong(serverKey(e.name), was, "cannot be written as it is wanted; change the file by hand")
	}
	return now, nil
}

const notAlone = "cannot be changed without changing something else in this file, such as what an anchor (&) or a merge key (<<) shares; change it by hand"

// problems is all that the configuration's own checks find in the text.
func (t *source) problems(below *Config) []Problem {
	layer, problems := decodeFile(t.file, t.bytes(), true)
	_, err := resolve(below, layer, nil, nil)
	var whole *Error
	if errors.As(err, &whole) {
		problems = append(problems, whole.Problems...)
	}
	return problems
}

// blame is the error for what is wrong with an edited text. was is what was wrong
// before; the places of the rest are in a text that nobody has seen.
func blame(file string, was, is []Problem) error {
	var all []Problem
	for _, p := range is {
		if i := slices.IndexFunc(was, func(o Problem) bool { return o.Key == p.Key && o.Message == p.Message }); i >= 0 {
			p.Position = was[i].Position
		} else {
			p.Position = Position{File: file}
		}
		all = append(all, p)
	}
	return asError(all)
}

// sameElsewhere reports whether two texts say the same, but for one server.
func sameElsewhere(a, b *Config, server string) bool {
	said := func(c *Config) map[string]string {
		all := writtenIn(*c)
		for key := range c.where {
			if _, ok := all[key]; !ok {
				all[key] = "" // a section
			}
		}
		maps.DeleteFunc(all, func(key, _ string) bool { return key == serversKey || within(key, serverKey(server)) })
		return all
	}
	return maps.Equal(said(a), said(b))
}

// sameAs reports whether an entry, or none, means what is wanted. A default means the
// same as nothing.
func sameAs(is, want *MCPServer) bool {
	if is == nil || want == nil {
		return is == want
	}
	return is.Means(*want)
}

// Means is Same, where a default that is left out is there.
func (s MCPServer) Means(o MCPServer) bool { return withDefaults(s).Same(withDefaults(o)) }

func withDefaults(s MCPServer) MCPServer {
	setDefaults(reflect.ValueOf(&s).Elem())
	return s
}

// server is an entry; nil: there is none.
func (c *Config) server(name string) *MCPServer {
	s, ok := c.MCPServers[name]
	if !ok {
		return nil
	}
	return &s
}

// means reports whether an entry says what is wanted and nothing that is wrong.
func (t *source) means(name string, s MCPServer) bool {
	now, problems, err := t.read(t.bytes())
	return err == nil && sameAs(now.server(name), &s) &&
		!slices.ContainsFunc(problems, func(p Problem) bool { return within(p.Key, serverKey(name)) })
}

// within reports whether a key is another one, or below it.
func within(key, above string) bool {
	rest, ok := strings.CutPrefix(key, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// change makes the settings of an entry into others, and leaves alone what stays.
func (t *source) change(path []string, was, is tree) error {
	for _, p := range is {
		at := append(slices.Clone(path), p.key)
		old, there := was.get(p.key)
		olds, a := old.(tree)
		news, b := p.value.(tree)
		var err error
		switch {
		case there && reflect.DeepEqual(old, p.value):
		case there && a && b:
			err = t.change(at, olds, news)
		default:
			err = t.set(at, p.value)
		}
		if err != nil {
			return err
		}
	}
	for _, p := range was {
		if _, stays := is.get(p.key); !stays {
			if err := t.unset(append(slices.Clone(path), p.key)); err != nil {
				return err
			}
		}
	}
	return nil
}
