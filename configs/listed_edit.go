package configs

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"dragoman/configs/jsonc"
)

// Edit is one change of a server in mcp.json. Every other byte of the file stays: comments, order,
// trailing commas, foreign members.
type Edit = edit[MCPServer]

// AgentEdit is one change of an agent in agents.json, in the same way.
type AgentEdit = edit[Agent]

// edit is one change of an entry.
type edit[T any] struct {
	name  string // the name of the entry
	apply func(e *listEditor[T]) error
	want  *T   // the entry after the edit; nil: none, or apply has checked it
	stays bool // want is not checked
}

// listEditor is the state of a file during a change.
type listEditor[T any] struct {
	*entryList[T]
	user *Config // the YAML, whose entries are not changed; nil: none
}

// add writes an entry. It is an error if the name exists.
func add[T any](name string, entry T) edit[T] {
	return edit[T]{name: name, want: &entry, apply: func(e *listEditor[T]) error {
		if old := e.find(name); old != nil && !e.inYAML(name) {
			return e.wrong(name, old.member.Name, "is there already")
		}
		return e.put(name, entry)
	}}
}

// put writes an entry, or turns an existing one into it.
func put[T any](name string, entry T) edit[T] {
	return edit[T]{name: name, want: &entry, apply: func(e *listEditor[T]) error { return e.put(name, entry) }}
}

// drop removes an entry.
func drop[T any](name string) edit[T] {
	return edit[T]{name: name, apply: func(e *listEditor[T]) error {
		old := e.find(name)
		if err := e.canChange(name, old); err != nil {
			return err
		}
		entries := jsonc.Member(e.text.Root, old.in)
		return e.splice(e.text.Without(entries.Value, e.index(old)))
	}}
}

func (e *listEditor[T]) inYAML(name string) bool {
	if e.user == nil {
		return false
	}
	_, there := (*e.of(e.user))[name]
	return there
}

// elsewhere returns the error for a change of an entry in the YAML.
func (e *listEditor[T]) elsewhere(key, message string) error {
	return &Error{Problems: []Problem{{Position: e.user.near(key), Key: key, Message: message}}}
}

// inYAML ends a message about an entry in the YAML.
const inYAML = " in this file, which no command changes; edit it by hand"

// canChange returns the reason why an entry cannot be changed; nil: it can.
func (e *listEditor[T]) canChange(name string, s *listed[T]) error {
	switch {
	case e.inYAML(name):
		return e.elsewhere(e.key(name), "is configured"+inYAML)
	case s == nil:
		names := slices.Sorted(maps.Keys(e.names()))
		at := Position{File: e.text.file}
		return &Error{Problems: []Problem{{at, e.shownKey(name), "is not in this file" + DidYouMean(name, names)}}}
	}
	return nil
}

// names returns the names of all entries.
func (e *listEditor[T]) names() map[string]bool {
	all := map[string]bool{}
	for _, s := range e.entries {
		all[s.name] = true
	}
	if e.user != nil {
		for name := range *e.of(e.user) {
			all[name] = true
		}
	}
	return all
}

func (e *listEditor[T]) wrong(name string, at hujson.Value, message string) error {
	return &Error{Problems: []Problem{*e.text.wrong(at, e.shownKey(name), message)}}
}

func (e *listEditor[T]) index(s *listed[T]) int {
	return jsonc.MemberAt(jsonc.Member(e.text.Root, s.in).Value, func(m string) bool { return e.name(m) == s.name })
}

// splice changes the text, and reads it again.
func (e *listEditor[T]) splice(cuts []jsonc.Replacement) error {
	l, problem := e.parse(e.text.file, e.text.Apply(cuts))
	if problem != nil {
		return &Error{Problems: []Problem{*problem}}
	}
	e.entryList = l
	return nil
}

// put writes an entry.
func (e *listEditor[T]) put(name string, s T) error {
	old := e.find(name)
	if message := cmp.Or(badName("name", name), e.reserved(name)); message != "" {
		at := Position{File: e.text.file}
		return &Error{Problems: []Problem{{Position: at, Key: e.shownKey(name), Message: message}}}
	}
	switch {
	case e.inYAML(name):
		return e.canChange(name, old)
	case old == nil:
		return e.set("", []string{e.member, name}, e.spell(s, readable.written))
	}
	before, in := *e.entryList, []string{old.in, jsonc.Name(old.member)}
	if err := e.change(name, nil, treeOf(old.value), treeOf(s)); err == nil {
		if e.finish != nil {
			err = e.finish(e, name, s)
		}
		if err == nil && e.now(name, s) {
			return nil
		}
	}
	*e.entryList = before
	// The whole entry is replaced, because it contains the mistake.
	return e.set("", in, e.spell(s, readable.written))
}

// now reports whether an entry is valid and equals want.
func (e *listEditor[T]) now(name string, want T) bool {
	s := e.find(name)
	return s != nil && len(s.problems) == 0 && e.means(s.value, want)
}

// change turns the settings of an entry into others, and leaves unchanged ones alone.
func (e *listEditor[T]) change(name string, path []string, was, is jsonc.Tree) error {
	for _, s := range is {
		at := append(slices.Clone(path), s.Key)
		old, there := was.Get(s.Key)
		olds, a := old.(jsonc.Tree)
		news, b := s.Value.(jsonc.Tree)
		var err error
		switch {
		case s.Key == "transport" || there && reflect.DeepEqual(old, s.Value):
		case there && a && b:
			err = e.change(name, at, olds, news)
		default:
			err = e.set(name, at, s.Value)
		}
		if err != nil {
			return err
		}
	}
	for _, s := range was {
		if _, stays := is.Get(s.Key); !stays && s.Key != "transport" {
			v, i := e.way(name, append(slices.Clone(path), s.Key))
			if i < 0 {
				continue
			}
			if err := e.splice(e.text.Without(v, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// way returns the object that holds a setting, and the setting's index; -1: none. name is the
// entry's; "": the way starts at the top.
func (e *listEditor[T]) way(name string, path []string) (v hujson.Value, i int) {
	v, kind, fields := e.text.Root, reflect.TypeFor[T](), []field(nil)
	if name != "" {
		s := e.find(name)
		if s == nil {
			return v, -1
		}
		v, fields = s.member.Value, fieldsOf(kind)
	}
	for n, word := range path {
		i = jsonc.MemberAt(v, func(m string) bool { return m == word || fields != nil && settingOf(m, fields) == word })
		if i < 0 || n+1 == len(path) {
			return v, i
		}
		v = jsonc.Object(v).Members[i].Value
		kind, fields = below(kind, fields, word)
	}
	return v, i
}

// below returns the type of a setting of an entry, and its settings; none: they have names of the user's.
func below(of reflect.Type, fields []field, setting string) (reflect.Type, []field) {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == setting })
	if i < 0 {
		return of, nil
	}
	if of = of.Field(fields[i].index).Type; shapeOf(of) != shapeStruct {
		return of, nil
	}
	return of, fieldsOf(of)
}

// set writes a setting, and creates missing objects around it.
func (e *listEditor[T]) set(name string, path []string, value any) error {
	for n := 1; n <= len(path); n++ {
		v, i := e.way(name, path[:n])
		if o := jsonc.Object(v); i >= 0 && n < len(path) && o.Members[i].Value.Value.Kind() == '{' {
			continue
		}
		for rest := len(path) - 1; rest >= n; rest-- {
			value = jsonc.Tree{{Key: path[rest], Value: value}}
		}
		if i >= 0 {
			return e.splice(e.text.Replaced(jsonc.Object(v).Members[i].Value, value))
		}
		word := path[n-1]
		if name != "" && n == 1 {
			word = e.shown(word)
		}
		return e.splice(e.text.With(v, jsonc.Setting{Key: word, Value: value}))
	}
	return nil
}

// Apply returns the text of an mcp.json after edits, one after the other. file is its name in
// messages; user is the YAML, or nil. The error is an *Error: the text or the new value is
// invalid, or the server is in the YAML.
func Apply(file string, text []byte, user *Config, edits ...Edit) ([]byte, error) {
	return serverFile().apply(file, text, user, edits)
}

// ApplyAgents is Apply for an agents.json.
func ApplyAgents(file string, text []byte, user *Config, edits ...AgentEdit) ([]byte, error) {
	return agentFile().apply(file, text, user, edits)
}

func (f *listing[T]) apply(file string, text []byte, user *Config, edits []edit[T]) ([]byte, error) {
	l, problem := f.parse(file, text)
	if problem != nil {
		return nil, &Error{Problems: []Problem{*problem}}
	}
	e := &listEditor[T]{entryList: l, user: user}
	for _, edit := range edits {
		others := e.others(edit.name)
		if err := edit.apply(e); err != nil {
			return nil, err
		}
		if err := e.check(edit, others); err != nil {
			return nil, err
		}
	}
	return e.text.Bytes(), nil
}

// check verifies that an edit made the requested change and no other.
func (e *listEditor[T]) check(edit edit[T], others []string) error {
	s := e.find(edit.name)
	broken := func(message string) error {
		at := Position{File: e.text.file}
		return &Error{Problems: []Problem{{Position: at, Key: e.shownKey(edit.name), Message: message}}}
	}
	switch {
	case edit.want != nil && s != nil && len(s.problems) > 0:
		for i := range s.problems {
			s.problems[i].Position = Position{File: e.text.file} // the user has not seen this text
		}
		return asError(s.problems)
	case !slices.Equal(e.others(edit.name), others):
		return broken("cannot be changed without changing something else; edit the file by hand")
	case !edit.stays && edit.want == nil && s != nil, edit.want != nil && !e.now(edit.name, *edit.want):
		return broken("cannot be written as it is wanted; edit the file by hand")
	}
	return nil
}

// others lists the texts of all entries except one.
func (e *listEditor[T]) others(but string) (texts []string) {
	for _, s := range e.entries {
		if s.name != but {
			texts = append(texts, string(e.text.Data[s.member.Name.StartOffset:s.member.Value.EndOffset]))
		}
	}
	return texts
}

// within reports whether a key equals another one, or is below it.
func within(key, above string) bool {
	rest, ok := strings.CutPrefix(key, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
