package configs

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// An Edit is one change of a server in mcp.json. Every other byte of the file stays: comments,
// order, trailing commas, foreign members.
type Edit struct {
	name  string // the name of the server
	apply func(e *listEditor) error
	want  *MCPServer // the server after the edit; nil: none, or apply has checked it
	stays bool       // want is not checked
}

// listEditor is the state of mcp.json during a change.
type listEditor struct {
	*serverList
	user *Config // the YAML, whose servers are not changed; nil: none
}

// AddServer writes a server. It is an error if the name exists. All values are written
// unchanged, including references and secrets; empty ones and defaults are left out.
func AddServer(name string, s MCPServer) Edit {
	return Edit{name: name, want: &s, apply: func(e *listEditor) error {
		if old := e.find(name); old != nil && !e.inYAML(name) {
			return e.wrong(name, old.member.Name, "is there already")
		}
		return e.put(name, s)
	}}
}

// PutServer is AddServer, but turns an existing server into s. Unchanged settings keep their text
// and their comments, and foreign members stay.
func PutServer(name string, s MCPServer) Edit {
	return Edit{name: name, want: &s, apply: func(e *listEditor) error { return e.put(name, s) }}
}

// DropServer removes a server. An unknown name is an error.
func DropServer(name string) Edit {
	return Edit{name: name, apply: func(e *listEditor) error {
		old := e.find(name)
		if err := e.canChange(name, old); err != nil {
			return err
		}
		servers, i := e.member(e.text.root, sharedServers), e.index(name)
		if err := e.splice(e.text.without(servers.Value, i)); err != nil {
			return err
		}
		return e.listDisabled(name, false)
	}}
}

// DisableServer disables or enables a server. One of the YAML is added to the list "disabled" or
// removed from it. An unknown name is an error.
func DisableServer(name string, disabled bool) Edit {
	return Edit{name: name, stays: true, apply: func(e *listEditor) error {
		if e.inYAML(name) {
			if e.user.MCPServers[name].Disabled {
				if disabled {
					return nil
				}
				return e.elsewhere(join(serverKey(name), "disabled"), "is set"+inYAML)
			}
			return e.listDisabled(name, disabled)
		}
		old := e.find(name)
		if err := e.canChange(name, old); err != nil {
			return err
		}
		if old.server.Disabled != disabled {
			if err := e.setDisabled(old, disabled); err != nil {
				return err
			}
		}
		if disabled {
			return nil
		}
		return e.listDisabled(name, false)
	}}
}

// setDisabled changes the member of a server that disables it. A server that is enabled loses it.
func (e *listEditor) setDisabled(s *listedServer, disabled bool) error {
	word := func(b bool) scalar { return scalar{text: map[bool]string{true: "true", false: "false"}[b]} }
	if i := memberAt(s.member.Value, func(m string) bool { return m == "enabled" }); i >= 0 {
		return e.splice(e.text.replaced(objectOf(s.member.Value).Members[i].Value, word(!disabled)))
	}
	if i := memberAt(s.member.Value, func(m string) bool { return m == "disabled" }); i >= 0 && !disabled {
		return e.splice(e.text.without(s.member.Value, i))
	}
	return e.set(s.name, []string{"disabled"}, word(disabled))
}

const serversKey = "mcp_servers"

func serverKey(name string) string { return join(serversKey, name) }

func (e *listEditor) inYAML(name string) bool {
	if e.user == nil {
		return false
	}
	_, there := e.user.MCPServers[name]
	return there
}

// elsewhere returns the error for a change of a server in the YAML.
func (e *listEditor) elsewhere(key, message string) error {
	return &Error{Problems: []Problem{{Position: e.user.near(key), Key: key, Message: message}}}
}

// inYAML ends a message about a server in the YAML.
const inYAML = " in this file, which no command changes; edit it by hand"

// canChange returns the reason why a server cannot be changed; nil: it can.
func (e *listEditor) canChange(name string, s *listedServer) error {
	switch {
	case e.inYAML(name):
		return e.elsewhere(serverKey(name), "is configured"+inYAML)
	case s == nil:
		names := slices.Sorted(maps.Keys(e.names()))
		at := Position{File: e.text.file}
		return &Error{Problems: []Problem{{at, sharedKey(name), "is not in this file" + DidYouMean(name, names)}}}
	}
	return nil
}

// names returns the names of all servers.
func (e *listEditor) names() map[string]bool {
	all := map[string]bool{}
	for _, s := range e.servers {
		all[s.name] = true
	}
	if e.user != nil {
		for name := range e.user.MCPServers {
			all[name] = true
		}
	}
	return all
}

func (e *listEditor) wrong(name string, at hujson.Value, message string) error {
	return &Error{Problems: []Problem{*e.text.wrong(at, sharedKey(name), message)}}
}

func (e *listEditor) index(name string) int {
	return memberAt(e.member(e.text.root, sharedServers).Value, func(m string) bool { return ServerName(m) == name })
}

// find returns a server; nil: it does not exist.
func (e *listEditor) find(name string) *listedServer {
	i := slices.IndexFunc(e.servers, func(s listedServer) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return &e.servers[i]
}

// memberAt returns the index of the first member whose name matches; -1: none.
func memberAt(v hujson.Value, fits func(name string) bool) int {
	o := objectOf(v)
	if o == nil {
		return -1
	}
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return fits(nameOf(m)) })
}

// member returns a member of an object; its Value is empty if it is missing.
func (e *listEditor) member(v hujson.Value, name string) (m hujson.ObjectMember) {
	if i := memberAt(v, func(have string) bool { return have == name }); i >= 0 {
		m = objectOf(v).Members[i]
	}
	return m
}

// splice changes the text, and reads it again.
func (e *listEditor) splice(cuts []replacement) error {
	l, problem := readList(e.text.file, e.text.apply(cuts))
	if problem != nil {
		return &Error{Problems: []Problem{*problem}}
	}
	e.serverList = l
	return nil
}

// put writes a server.
func (e *listEditor) put(name string, s MCPServer) error {
	old := e.find(name)
	if message := badName("name", name); message != "" || name == nativeServer {
		if message == "" {
			message = "the name is taken by dragoman's own tools"
		}
		at := Position{File: e.text.file}
		return &Error{Problems: []Problem{{Position: at, Key: sharedKey(name), Message: message}}}
	}
	switch {
	case e.inYAML(name):
		return e.canChange(name, old)
	case old == nil:
		return e.set("", []string{sharedServers, name}, asShared(s, readable.written))
	}
	before := *e.serverList
	if err := e.change(name, nil, treeOf(old.server), treeOf(s)); err == nil {
		if err = e.setType(name, s); err == nil && e.find(name).means(s) {
			return nil
		}
	}
	*e.serverList = before
	// The whole server is replaced, because it contains the mistake.
	return e.set("", []string{sharedServers, nameOf(old.member)}, asShared(s, readable.written))
}

// means reports whether a server is valid and equals want.
func (s *listedServer) means(want MCPServer) bool {
	return s != nil && len(s.problems) == 0 && s.server.Means(want)
}

// asShared lists the members of a new server, with their names in mcp.json.
func asShared(s MCPServer, spell func(readable) string) tree {
	var t tree
	if !s.URL.IsZero() {
		t = append(t, setting{"type", scalar{kindOfURL(s), true}})
	}
	for _, s := range structOf(reflect.ValueOf(s), spell) {
		if s.key != "transport" {
			t = append(t, setting{sharedName(s.key), s.value})
		}
	}
	return t
}

func kindOfURL(s MCPServer) string { return withDefaults(s).Transport }

// setType changes the member "type" if it does not match s.
func (e *listEditor) setType(name string, s MCPServer) error {
	now := e.find(name)
	fields := fieldsOf(reflect.TypeFor[MCPServer]())
	i := memberAt(now.member.Value, func(m string) bool { return settingOf(m, fields) == "transport" })
	written := ""
	if i >= 0 {
		written = fold(objectOf(now.member.Value).Members[i].Value.Value.(hujson.Literal).String())
	}
	switch {
	case s.URL.IsZero() && i >= 0 && written != "stdio":
		return e.splice(e.text.without(now.member.Value, i))
	case s.URL.IsZero(), i < 0 && kindOfURL(now.server) == kindOfURL(s),
		written == kindOfURL(s), written == "streamablehttp" && kindOfURL(s) == "http":
		return nil
	}
	return e.set(name, []string{"transport"}, scalar{kindOfURL(s), true})
}

// change turns the settings of a server into others, and leaves unchanged ones alone.
func (e *listEditor) change(name string, path []string, was, is tree) error {
	for _, s := range is {
		at := append(slices.Clone(path), s.key)
		old, there := was.get(s.key)
		olds, a := old.(tree)
		news, b := s.value.(tree)
		var err error
		switch {
		case s.key == "transport" || there && reflect.DeepEqual(old, s.value):
		case there && a && b:
			err = e.change(name, at, olds, news)
		default:
			err = e.set(name, at, s.value)
		}
		if err != nil {
			return err
		}
	}
	for _, s := range was {
		if _, stays := is.get(s.key); !stays && s.key != "transport" {
			v, i := e.way(name, append(slices.Clone(path), s.key))
			if i < 0 {
				continue
			}
			if err := e.splice(e.text.without(v, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// way returns the object that holds a setting, and the setting's index; -1: none. name is the
// server's; "": the way starts at the top.
func (e *listEditor) way(name string, path []string) (v hujson.Value, i int) {
	v, fields := e.text.root, []field(nil)
	if name != "" {
		s := e.find(name)
		if s == nil {
			return v, -1
		}
		v, fields = s.member.Value, fieldsOf(reflect.TypeFor[MCPServer]())
	}
	for n, word := range path {
		i = memberAt(v, func(m string) bool { return m == word || fields != nil && settingOf(m, fields) == word })
		if i < 0 || n+1 == len(path) {
			return v, i
		}
		v = objectOf(v).Members[i].Value
		if fields != nil && word == "oauth" {
			fields = fieldsOf(reflect.TypeFor[OAuth]())
		} else {
			fields = nil
		}
	}
	return v, i
}

// set writes a setting, and creates missing objects around it.
func (e *listEditor) set(name string, path []string, value any) error {
	for n := 1; n <= len(path); n++ {
		v, i := e.way(name, path[:n])
		if o := objectOf(v); i >= 0 && n < len(path) && o.Members[i].Value.Value.Kind() == '{' {
			continue
		}
		for rest := len(path) - 1; rest >= n; rest-- {
			value = tree{{path[rest], value}}
		}
		if i >= 0 {
			return e.splice(e.text.replaced(objectOf(v).Members[i].Value, value))
		}
		word := path[n-1]
		if name != "" && n == 1 {
			word = sharedName(word)
		}
		return e.splice(e.text.with(v, setting{word, value}))
	}
	return nil
}

// listDisabled adds a server to the list of disabled ones, or removes it.
func (e *listEditor) listDisabled(name string, disabled bool) error {
	at := memberAt(e.text.root, func(m string) bool { return m == sharedDisabled })
	if at < 0 || e.member(e.text.root, sharedDisabled).Value.Value.Kind() != '[' {
		if !disabled {
			return nil
		}
		return e.set("", []string{sharedDisabled}, []scalar{{name, true}})
	}
	for {
		list := e.member(e.text.root, sharedDisabled).Value
		elements := list.Value.(*hujson.Array).Elements
		i := slices.IndexFunc(elements, func(v hujson.Value) bool { return v.Value.(hujson.Literal).String() == name })
		switch {
		case disabled && i >= 0, !disabled && i < 0:
			return nil
		case disabled:
			return e.splice(e.text.with(list, scalar{name, true}))
		case len(elements) == 1 && e.text.blank(list.StartOffset+1, elements[0].StartOffset) &&
			e.text.blank(elements[0].EndOffset, list.EndOffset-1):
			return e.splice(e.text.without(e.text.root, at))
		}
		if err := e.splice(e.text.without(list, i)); err != nil {
			return err
		}
	}
}

// Apply returns the text of an mcp.json after edits, one after the other. file is its name in
// messages; user is the YAML, or nil. The error is an *Error: the text or the new value is
// invalid, or the server is in the YAML.
func Apply(file string, text []byte, user *Config, edits ...Edit) ([]byte, error) {
	l, problem := readList(file, text)
	if problem != nil {
		return nil, &Error{Problems: []Problem{*problem}}
	}
	e := &listEditor{serverList: l, user: user}
	for _, edit := range edits {
		others := e.others(edit.name)
		if err := edit.apply(e); err != nil {
			return nil, err
		}
		if err := e.check(edit, others); err != nil {
			return nil, err
		}
	}
	return e.text.bytes(), nil
}

// check verifies that an edit made the requested change and no other.
func (e *listEditor) check(edit Edit, others []string) error {
	s := e.find(edit.name)
	broken := func(message string) error {
		at := Position{File: e.text.file}
		return &Error{Problems: []Problem{{Position: at, Key: sharedKey(edit.name), Message: message}}}
	}
	switch {
	case edit.want != nil && s != nil && len(s.problems) > 0:
		for i := range s.problems {
			s.problems[i].Position = Position{File: e.text.file} // the user has not seen this text
		}
		return asError(s.problems)
	case !slices.Equal(e.others(edit.name), others):
		return broken("cannot be changed without changing something else; edit the file by hand")
	case !edit.stays && edit.want == nil && s != nil, edit.want != nil && !s.means(*edit.want):
		return broken("cannot be written as it is wanted; edit the file by hand")
	}
	return nil
}

// others lists the texts of all servers except one.
func (e *listEditor) others(but string) (texts []string) {
	for _, s := range e.servers {
		if s.name != but {
			texts = append(texts, string(e.text.data[s.member.Name.StartOffset:s.member.Value.EndOffset]))
		}
	}
	return texts
}

// Means is Same with the defaults filled in.
func (s MCPServer) Means(o MCPServer) bool { return withDefaults(s).Same(withDefaults(o)) }

func withDefaults(s MCPServer) MCPServer {
	(&Config{}).setDefaults(reflect.ValueOf(&s).Elem(), "")
	return s
}

// within reports whether a key equals another one, or is below it.
func within(key, above string) bool {
	rest, ok := strings.CutPrefix(key, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
