package configs

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Top-level members of mcp.json.
const (
	sharedServers  = "mcpServers"
	sharedDisabled = "disabled"
)

// serverList is the content of mcp.json.
type serverList struct {
	text     *jsonText
	servers  []listedServer      // in the order of the file
	disabled map[string]Position // names of disabled servers, in any file
	warnings []Problem
	open     bool // other users can read the file
}

// listedServer is one server of mcp.json.
type listedServer struct {
	name     string // ServerName of the member's name
	member   hujson.ObjectMember
	server   MCPServer
	where    map[string]Position
	problems []Problem // none: it can be used
}

// UnusableServer is an invalid server of mcp.json.
type UnusableServer struct {
	MCPServer        // the valid part of it
	Err       *Error // its mistakes
}

// readList reads mcp.json. A problem is about the whole file; the problems of a server are in it.
func readList(file string, data []byte) (*serverList, *Problem) {
	t, problem := parseJSON(file, data)
	if problem != nil {
		return nil, problem
	}
	l := &serverList{text: t, disabled: map[string]Position{}}
	if t.root.Value == nil {
		return l, nil
	}
	top := objectOf(t.root)
	if top == nil {
		return nil, t.wrong(t.root, "", "must be an object, {\"mcpServers\": {…}}, got "+kindOf(t.node(t.root)))
	}
	seen := map[string]bool{}
	for _, m := range top.Members {
		name := nameOf(m)
		if problem := l.member(name, m, seen[name]); problem != nil {
			return nil, problem
		}
		seen[name] = true
	}
	return l, nil
}

func (t *jsonText) wrong(at hujson.Value, key, message string) *Problem {
	return &Problem{Position: t.position(at.StartOffset), Key: key, Message: message}
}

// member reads one top-level member.
func (l *serverList) member(name string, m hujson.ObjectMember, again bool) *Problem {
	t := l.text
	known := name == sharedServers || name == sharedDisabled
	switch {
	case known && again:
		return t.wrong(m.Name, name, "duplicate member")
	case !known:
		l.stranger(name, m)
		return nil
	}
	switch v := m.Value.Value.(type) {
	case *hujson.Object:
		if name == sharedServers {
			l.read(v)
			return nil
		}
	case *hujson.Array:
		if name == sharedDisabled {
			return l.readDisabled(v)
		}
	case hujson.Literal:
		if v.Kind() == 'n' {
			return nil
		}
	}
	want := "an object, {NAME: {…}}"
	if name == sharedDisabled {
		want = "a list of names of servers"
	}
	return t.wrong(m.Value, name, "must be "+want+", got "+kindOf(t.node(m.Value)))
}

// stranger warns of a top-level member that is most likely a misspelling.
func (l *serverList) stranger(name string, m hujson.ObjectMember) {
	message := ""
	if o := objectOf(m.Value); o != nil {
		isServer := slices.ContainsFunc(o.Members, func(m hujson.ObjectMember) bool {
			is := settingOf(nameOf(m), fieldsOf(reflect.TypeFor[MCPServer]()))
			return is == "command" || is == "url"
		})
		switch {
		case isServer:
			message = "is not read: a server belongs into mcpServers"
		case name == "servers" || name == "context_servers":
			message = "is not read: here the servers stand in mcpServers"
		}
	}
	if more := DidYouMean(name, []string{sharedServers, sharedDisabled}); message == "" && more != "" {
		message = "is not read" + more
	}
	if message != "" {
		l.warnings = append(l.warnings, *l.text.wrong(m.Name, cut(name), message))
	}
}

func (l *serverList) readDisabled(names *hujson.Array) *Problem {
	for _, e := range names.Elements {
		name, ok := e.Value.(hujson.Literal)
		if !ok || name.Kind() != '"' {
			return l.text.wrong(e, sharedDisabled, "must hold names of servers, got "+kindOf(l.text.node(e)))
		}
		l.disabled[name.String()] = l.text.position(e.StartOffset)
	}
	return nil
}

// read reads the servers. A duplicate server is invalid both times.
func (l *serverList) read(servers *hujson.Object) {
	have := map[string]int{}
	for _, m := range servers.Members {
		s := l.entry(m)
		if first, twice := have[s.name]; twice {
			of := &l.servers[first]
			at := l.text.position(of.member.Name.StartOffset)
			message := "duplicate member, first in line " + fmt.Sprint(at.Line)
			if nameOf(of.member) != nameOf(m) {
				message = fmt.Sprintf("is called %s here, as is %s in line %d", s.name, quote(nameOf(of.member)), at.Line)
			}
			of.problems = append(of.problems, *l.text.wrong(m.Name, sharedKey(s.name), message))
			continue
		}
		have[s.name] = len(l.servers)
		l.servers = append(l.servers, s)
	}
}

// sharedKey returns the key of a server in messages about mcp.json.
func sharedKey(name string) string { return join(sharedServers, name) }

// asShared returns a problem of a server with its key in mcp.json.
func (p Problem) asShared() Problem {
	if rest, ok := strings.CutPrefix(p.Key, serversKey); ok {
		p.Key = sharedServers + rest
	}
	return p
}

// ServerName returns our name for a server of another program: letters, digits, - and _, at most
// 64 of them.
func ServerName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '-' || isWord(r) {
			return r
		}
		return '-'
	}, strings.TrimSpace(name))
	switch name = strings.Trim(name, "-"); name {
	case "":
		name = "server"
	case nativeServer:
		name += "-server"
	}
	return name[:min(len(name), 64)]
}

// lay adds the servers of mcp.json to the user's layer. Those of the YAML take precedence.
func (l *serverList) lay(c *Config) {
	if c.MCPServers == nil {
		c.MCPServers = map[string]MCPServer{}
	} else {
		c.MCPServers = maps.Clone(c.MCPServers)
	}
	if c.where == nil {
		c.where = map[string]Position{}
	}
	c.ServersFile, c.Unusable = l.text.file, map[string]UnusableServer{}
	c.noted = append(c.noted, l.warnings...)
	for _, s := range l.servers {
		if _, taken := c.MCPServers[s.name]; taken {
			at, _ := c.Where(serverKey(s.name))
			why := "is not used, because " + at.String() + " configures it"
			c.noted = append(c.noted, *l.text.wrong(s.member.Name, sharedKey(s.name), why))
			continue
		}
		if len(s.problems) > 0 {
			c.spoil(s.name, s.server, s.problems)
			continue
		}
		c.MCPServers[s.name] = s.server
		maps.Copy(c.where, s.where)
	}
	c.disabled = l.disabled
	if l.open {
		c.shared = maps.Clone(c.shared)
		if c.shared == nil {
			c.shared = map[string]bool{}
		}
		c.shared[l.text.file] = true
	}
}

// spoil removes an invalid server of mcp.json.
func (c *Config) spoil(name string, s MCPServer, problems []Problem) {
	c.Unusable[name] = UnusableServer{s, asError(problems).(*Error)} //nolint:errorlint // an *Error
	c.noted = append(c.noted, problems...)
	delete(c.MCPServers, name)
	maps.DeleteFunc(c.where, func(key string, _ Position) bool { return within(key, serverKey(name)) })
}

// Server returns an MCP server of the configuration, even an unusable one.
func (c *Config) Server(name string) (MCPServer, bool) {
	if s, ok := c.MCPServers[name]; ok {
		return s, true
	}
	s, ok := c.Unusable[name]
	return s.MCPServer, ok
}

// ServerNames lists the MCP servers of the configuration, including unusable ones.
func (c *Config) ServerNames() []string {
	names := slices.Collect(maps.Keys(c.MCPServers))
	for name := range c.Unusable {
		if _, usable := c.MCPServers[name]; !usable {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ServerAt returns the position of an MCP server. Only File is set if the line is not known.
func (c *Config) ServerAt(name string) Position {
	if at, ok := c.where[serverKey(name)]; ok {
		return at
	}
	if s, ok := c.Unusable[name]; ok {
		return s.Err.Problems[0].Position
	}
	return Position{}
}

// WarningsOf lists the warnings about an MCP server.
func (c *Config) WarningsOf(server string) (list []Problem) {
	for _, w := range c.Warnings {
		if within(w.Key, serverKey(server)) || within(w.Key, sharedKey(server)) {
			list = append(list, w)
		}
	}
	return list
}

// leaveAlone disables the servers in the list of mcp.json.
func (c *Config) leaveAlone() {
	for name, at := range c.disabled {
		if s, ok := c.MCPServers[name]; ok {
			s.Disabled = true
			c.MCPServers[name] = s
			c.where[join(serverKey(name), "disabled")] = at
		} else if s, ok := c.Unusable[name]; ok {
			s.Disabled = true
			c.Unusable[name] = s
		} else if more := DidYouMean(name, slices.Sorted(maps.Keys(c.MCPServers))); more != "" {
			why := "there is no MCP server " + quote(name) + more
			c.noted = append(c.noted, Problem{Position: at, Key: sharedDisabled, Message: why})
		}
	}
}

// resolveWith is resolve for a user's layer with the servers of mcp.json. A server that is
// invalid in combination with the editor's options affects no other setting.
func resolveWith(editor, user *Config) (*Config, error) {
	c, err := resolve(editor, user, nil, nil)
	var whole *Error
	for errors.As(err, &whole) && user.ServersFile != "" {
		wrong := map[string][]Problem{}
		for _, p := range whole.Problems {
			for name := range user.MCPServers {
				if within(p.Key, serverKey(name)) && user.where[serverKey(name)].File == user.ServersFile {
					wrong[name] = append(wrong[name], p.asShared())
				}
			}
		}
		if len(wrong) == 0 {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(wrong)) {
			user.spoil(name, user.MCPServers[name], wrong[name])
		}
		c, err = resolve(editor, user, nil, nil)
	}
	return c, err
}
