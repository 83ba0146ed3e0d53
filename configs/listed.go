package configs

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"dragoman/configs/jsonc"
)

// listing describes a file beside the YAML that commands change: mcp.json or agents.json. Its entries
// are those of a section of the YAML, by name.
type listing[T any] struct {
	file    string   // its name beside config.yaml
	section string   // of the YAML
	member  string   // that has the entries
	also    []string // other members that have entries as well
	// disabled is a member with names of entries that are left alone, in any file; "": there is none.
	disabled string
	what     string // an entry, in messages

	of func(*Config) *map[string]T
	// unusable are the invalid entries of the file.
	unusable func(*Config) map[string]Unusable[T]
	source   func(*Config) *string // the path of the file that was read
	name     func(string) string   // the name of an entry for the name of its member
	reserved func(name string) (message string)
	read     func(l *entryList[T], m hujson.ObjectMember) listed[T]
	spell    func(entry T, text func(readable) string) jsonc.Tree // the members of a new entry
	// finish changes what put leaves out; nil: it is complete.
	finish func(e *listEditor[T], name string, entry T) error
	means  func(a, b T) bool
	// shown returns the name in the file of a setting of an entry.
	shown func(setting string) string
	// strange returns why a top-level member that is not read may be a mistake; "": it is not.
	strange func(name string, o *hujson.Object) (message string)
}

// entryList is the content of such a file.
type entryList[T any] struct {
	*listing[T]
	text     *jsonText
	entries  []listed[T]         // in the order of the file
	disabled map[string]Position // names of disabled entries, in any file
	warnings []Problem
	open     bool // other users can read the file
}

// listed is one entry of the file.
type listed[T any] struct {
	name     string // of the entry
	in       string // the member that has it
	member   hujson.ObjectMember
	value    T
	where    map[string]Position
	problems []Problem // none: it can be used
}

// Unusable is an invalid entry.
type Unusable[T any] struct {
	Entry T      // the valid part of it
	Err   *Error // its mistakes
}

// parse reads the file. A problem is about the whole file; the problems of an entry are in it.
func (f *listing[T]) parse(file string, data []byte) (*entryList[T], *Problem) {
	t, problem := parseJSON(file, data)
	if problem != nil {
		return nil, problem
	}
	l := &entryList[T]{listing: f, text: t, disabled: map[string]Position{}}
	if t.Root.Value == nil {
		return l, nil
	}
	top := jsonc.Object(t.Root)
	if top == nil {
		return nil, t.wrong(t.Root, "", "must be an object, {\""+f.member+"\": {…}}, got "+kindOf(t.node(t.Root)))
	}
	seen := map[string]bool{}
	for _, m := range top.Members {
		name := jsonc.Name(m)
		if problem := l.top(name, m, seen[name]); problem != nil {
			return nil, problem
		}
		seen[name] = true
	}
	return l, nil
}

// top reads one top-level member.
func (l *entryList[T]) top(name string, m hujson.ObjectMember, again bool) *Problem {
	t := l.text
	entries := name == l.member || slices.Contains(l.also, name)
	names := name == l.listing.disabled && name != ""
	switch {
	case (entries || names) && again:
		return t.wrong(m.Name, name, "duplicate member")
	case !entries && !names:
		l.stranger(name, m)
		return nil
	}
	switch v := m.Value.Value.(type) {
	case *hujson.Object:
		if entries {
			l.take(name, v)
			return nil
		}
	case *hujson.Array:
		if names {
			return l.readDisabled(v)
		}
	case hujson.Literal:
		if v.Kind() == 'n' {
			return nil
		}
	}
	want := "an object, {NAME: {…}}"
	if names {
		want = "a list of names of servers"
	}
	return t.wrong(m.Value, name, "must be "+want+", got "+kindOf(t.node(m.Value)))
}

// stranger warns of a top-level member that is most likely a misspelling.
func (l *entryList[T]) stranger(name string, m hujson.ObjectMember) {
	message := ""
	if o := jsonc.Object(m.Value); o != nil {
		message = l.strange(name, o)
	}
	known := slices.DeleteFunc([]string{l.member, l.listing.disabled}, func(s string) bool { return s == "" })
	if more := DidYouMean(name, known); message == "" && more != "" {
		message = "is not read" + more
	}
	if message != "" {
		l.warnings = append(l.warnings, *l.text.wrong(m.Name, cut(name), message))
	}
}

func (l *entryList[T]) readDisabled(names *hujson.Array) *Problem {
	for _, e := range names.Elements {
		name, ok := e.Value.(hujson.Literal)
		if !ok || name.Kind() != '"' {
			return l.text.wrong(e, l.listing.disabled, "must hold names of servers, got "+kindOf(l.text.node(e)))
		}
		l.disabled[name.String()] = l.text.position(e.StartOffset)
	}
	return nil
}

// take reads the entries of a member. A duplicate entry is invalid both times.
func (l *entryList[T]) take(in string, entries *hujson.Object) {
	for _, m := range entries.Members {
		s := l.read(l, m)
		s.in = in
		if of := l.find(s.name); of != nil {
			at := l.text.position(of.member.Name.StartOffset)
			message := "duplicate member, first in line " + fmt.Sprint(at.Line)
			if jsonc.Name(of.member) != jsonc.Name(m) {
				message = fmt.Sprintf("is called %s here, as is %s in line %d", s.name, quote(jsonc.Name(of.member)), at.Line)
			}
			of.problems = append(of.problems, *l.text.wrong(m.Name, l.shownKey(s.name), message))
			continue
		}
		l.entries = append(l.entries, s)
	}
}

// find returns an entry; nil: it does not exist.
func (l *entryList[T]) find(name string) *listed[T] {
	i := slices.IndexFunc(l.entries, func(s listed[T]) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return &l.entries[i]
}

// decode reads an entry's value from a syntax tree, and checks it. The keys of problems are those of
// the YAML. shared: texts may hold the references that MCP programs share.
func (l *entryList[T]) decode(m hujson.ObjectMember, shared bool, fill func(d *decoder, key string, value *T), check func(ck *checker, key string, value T)) listed[T] {
	t := l.text
	s := listed[T]{name: l.name(jsonc.Name(m)), member: m}
	key := l.key(s.name)
	c := &Config{where: map[string]Position{key: t.position(m.Name.StartOffset)}, bad: map[string]bool{}}
	d := &decoder{file: t.file, dir: folderOf(t.file), own: true, shared: shared, where: c.where, bad: c.bad, left: maxValues}
	if jsonc.Object(m.Value) == nil {
		d.problems = append(d.problems, *t.wrong(m.Value, key, "must be an object, got "+kindOf(t.node(m.Value))))
	} else {
		fill(d, key, &s.value)
		*l.of(c) = map[string]T{s.name: s.value}
		ck := &checker{c: c}
		check(ck, key, s.value)
		if d.problems = append(d.problems, checkValues(c)...); len(d.problems) == 0 {
			d.problems = ck.problems
		}
	}
	s.where = c.where
	for _, p := range d.problems {
		s.problems = append(s.problems, l.asShown(p))
	}
	return s
}

// key returns the key of an entry in the YAML.
func (f *listing[T]) key(name string) string { return join(f.section, name) }

// shownKey returns the key of an entry in messages about the file.
func (f *listing[T]) shownKey(name string) string { return join(f.member, name) }

// asShown returns a problem of an entry with its key in the file.
func (f *listing[T]) asShown(p Problem) Problem {
	if rest, ok := strings.CutPrefix(p.Key, f.section); ok {
		p.Key = f.member + rest
	}
	return p
}

// lay adds the entries of the file to the user's layer. Those of the YAML take precedence.
func (l *entryList[T]) lay(c *Config) {
	all := l.of(c)
	if *all = maps.Clone(*all); *all == nil {
		*all = map[string]T{}
	}
	if c.where == nil {
		c.where = map[string]Position{}
	}
	*l.source(c) = l.text.file
	c.noted = append(c.noted, l.warnings...)
	for _, s := range l.entries {
		if _, taken := (*all)[s.name]; taken {
			at, _ := c.Where(l.key(s.name))
			why := "is not used, because " + at.String() + " configures it"
			c.noted = append(c.noted, *l.text.wrong(s.member.Name, l.shownKey(s.name), why))
			continue
		}
		if len(s.problems) > 0 {
			l.spoil(c, s.name, s.value, s.problems)
			continue
		}
		(*all)[s.name] = s.value
		maps.Copy(c.where, s.where)
	}
	if l.open {
		c.shared = maps.Clone(c.shared)
		if c.shared == nil {
			c.shared = map[string]bool{}
		}
		c.shared[l.text.file] = true
	}
}

// spoil removes an invalid entry of the file.
func (f *listing[T]) spoil(c *Config, name string, entry T, problems []Problem) {
	f.unusable(c)[name] = Unusable[T]{entry, asError(problems).(*Error)} //nolint:errorlint // an *Error
	c.noted = append(c.noted, problems...)
	delete(*f.of(c), name)
	maps.DeleteFunc(c.where, func(key string, _ Position) bool { return within(key, f.key(name)) })
}

// spoilt removes the entries of the file that some of the problems are about, and reports whether
// there are any.
func (f *listing[T]) spoilt(c *Config, problems []Problem) bool {
	file := *f.source(c)
	if file == "" {
		return false
	}
	wrong := map[string][]Problem{}
	for _, p := range problems {
		for name := range *f.of(c) {
			if within(p.Key, f.key(name)) && c.where[f.key(name)].File == file {
				wrong[name] = append(wrong[name], f.asShown(p))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		f.spoil(c, name, (*f.of(c))[name], wrong[name])
	}
	return len(wrong) > 0
}

// resolveWith is resolve for a user's layer with the entries of mcp.json and agents.json. An entry that
// is invalid in combination with the editor's options affects no other setting.
func resolveWith(editor, user *Config) (*Config, error) {
	c, err := resolve(editor, user, nil, nil)
	var whole *Error
	for errors.As(err, &whole) {
		servers, agents := serverFile().spoilt(user, whole.Problems), agentFile().spoilt(user, whole.Problems)
		if !servers && !agents {
			break
		}
		c, err = resolve(editor, user, nil, nil)
	}
	return c, err
}

// settingOf returns the setting of a member; "": none.
func settingOf(name string, fields []field) string {
	if setting := foreignNames[name]; setting != "" {
		name = setting
	}
	for _, f := range fields {
		if f.name == name {
			return name
		}
	}
	for _, f := range fields {
		if fold(f.name) == fold(name) ||
			slices.ContainsFunc(f.aka, func(s string) bool { return fold(s) == fold(name) }) {
			return f.name
		}
	}
	return ""
}

// filled returns an entry with the defaults filled in.
func filled[T any](entry T) T {
	(&Config{}).setDefaults(reflect.ValueOf(&entry).Elem(), "")
	return entry
}
