package configs

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"dragoman/configs/jsonc"
)

// Top-level members of mcp.json.
const (
	sharedServers  = "mcpServers"
	sharedDisabled = "disabled"
)

// serverFile describes mcp.json.
func serverFile() *listing[MCPServer] {
	return &listing[MCPServer]{
		file: "mcp.json", section: "mcp_servers", member: sharedServers, disabled: sharedDisabled, what: "MCP server",
		of:       func(c *Config) *map[string]MCPServer { return &c.MCPServers },
		unusable: func(c *Config) map[string]UnusableServer { return c.Unusable },
		source:   func(c *Config) *string { return &c.ServersFile },
		name:     ServerName,
		reserved: func(name string) string {
			if name == nativeServer {
				return "the name is taken by dragoman's own tools"
			}
			return ""
		},
		read:    serverEntry,
		spell:   asShared,
		finish:  setType,
		means:   MCPServer.Means,
		shown:   sharedName,
		strange: strangeServers,
	}
}

// UnusableServer is an invalid server of mcp.json.
type UnusableServer = Unusable[MCPServer]

// strangeServers explains a top-level member that may have servers.
func strangeServers(name string, o *hujson.Object) string {
	isServer := slices.ContainsFunc(o.Members, func(m hujson.ObjectMember) bool {
		is := settingOf(jsonc.Name(m), fieldsOf(reflect.TypeFor[MCPServer]()))
		return is == "command" || is == "url"
	})
	switch {
	case isServer:
		return "is not read: a server belongs into mcpServers"
	case name == "servers" || name == "context_servers":
		return "is not read: here the servers stand in mcpServers"
	}
	return ""
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

// serverKey returns the key of a server in the YAML.
func serverKey(name string) string { return join("mcp_servers", name) }

// Server returns an MCP server of the configuration, even an unusable one.
func (c *Config) Server(name string) (MCPServer, bool) {
	if s, ok := c.MCPServers[name]; ok {
		return s, true
	}
	s, ok := c.Unusable[name]
	return s.Entry, ok
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
		if within(w.Key, serverKey(server)) || within(w.Key, join(sharedServers, server)) {
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
			s.Entry.Disabled = true
			c.Unusable[name] = s
		} else if more := DidYouMean(name, slices.Sorted(maps.Keys(c.MCPServers))); more != "" {
			why := "there is no MCP server " + quote(name) + more
			c.noted = append(c.noted, Problem{Position: at, Key: sharedDisabled, Message: why})
		}
	}
}

// Means is Same with the defaults filled in.
func (s MCPServer) Means(o MCPServer) bool { return filled(s).Same(filled(o)) }

// asShared lists the members of a new server, with their names in mcp.json.
func asShared(s MCPServer, spell func(readable) string) jsonc.Tree {
	var t jsonc.Tree
	if !s.URL.IsZero() {
		t = append(t, jsonc.Setting{Key: "type", Value: jsonc.Scalar{Text: kindOfURL(s), Quoted: true}})
	}
	for _, s := range structOf(reflect.ValueOf(s), spell) {
		if s.Key != "transport" {
			t = append(t, jsonc.Setting{Key: sharedName(s.Key), Value: s.Value})
		}
	}
	return t
}

func kindOfURL(s MCPServer) string { return filled(s).Transport }

// setType changes the member "type" if it does not match s.
func setType(e *listEditor[MCPServer], name string, s MCPServer) error {
	now := e.find(name)
	fields := fieldsOf(reflect.TypeFor[MCPServer]())
	i := jsonc.MemberAt(now.member.Value, func(m string) bool { return settingOf(m, fields) == "transport" })
	written := ""
	if i >= 0 {
		written = fold(jsonc.Object(now.member.Value).Members[i].Value.Value.(hujson.Literal).String())
	}
	switch {
	case s.URL.IsZero() && i >= 0 && written != "stdio":
		return e.splice(e.text.Without(now.member.Value, i))
	case s.URL.IsZero(), i < 0 && kindOfURL(now.value) == kindOfURL(s),
		written == kindOfURL(s), written == "streamablehttp" && kindOfURL(s) == "http":
		return nil
	}
	return e.set(name, []string{"transport"}, jsonc.Scalar{Text: kindOfURL(s), Quoted: true})
}

// AddServer writes a server. It is an error if the name exists. All values are written
// unchanged, including references and secrets; empty ones and defaults are left out.
func AddServer(name string, s MCPServer) Edit { return add(name, s) }

// PutServer is AddServer, but turns an existing server into s. Unchanged settings keep their text
// and their comments, and foreign members stay.
func PutServer(name string, s MCPServer) Edit { return put(name, s) }

// DropServer removes a server. An unknown name is an error.
func DropServer(name string) Edit {
	drop := drop[MCPServer](name)
	return Edit{name: name, apply: func(e *listEditor[MCPServer]) error {
		if err := drop.apply(e); err != nil {
			return err
		}
		return listDisabled(e, name, false)
	}}
}

// DisableServer disables or enables a server. One of the YAML is added to the list "disabled" or
// removed from it. An unknown name is an error.
func DisableServer(name string, disabled bool) Edit {
	return Edit{name: name, stays: true, apply: func(e *listEditor[MCPServer]) error {
		if e.inYAML(name) {
			if e.user.MCPServers[name].Disabled {
				if disabled {
					return nil
				}
				return e.elsewhere(join(serverKey(name), "disabled"), "is set"+inYAML)
			}
			return listDisabled(e, name, disabled)
		}
		old := e.find(name)
		if err := e.canChange(name, old); err != nil {
			return err
		}
		if old.value.Disabled != disabled {
			if err := setDisabled(e, old, disabled); err != nil {
				return err
			}
		}
		if disabled {
			return nil
		}
		return listDisabled(e, name, false)
	}}
}

// setDisabled changes the member of a server that disables it. A server that is enabled loses it.
func setDisabled(e *listEditor[MCPServer], s *listed[MCPServer], disabled bool) error {
	word := func(b bool) jsonc.Scalar {
		return jsonc.Scalar{Text: map[bool]string{true: "true", false: "false"}[b]}
	}
	if i := jsonc.MemberAt(s.member.Value, func(m string) bool { return m == "enabled" }); i >= 0 {
		return e.splice(e.text.Replaced(jsonc.Object(s.member.Value).Members[i].Value, word(!disabled)))
	}
	if i := jsonc.MemberAt(s.member.Value, func(m string) bool { return m == "disabled" }); i >= 0 && !disabled {
		return e.splice(e.text.Without(s.member.Value, i))
	}
	return e.set(s.name, []string{"disabled"}, word(disabled))
}

// listDisabled adds a server to the list of disabled ones, or removes it.
func listDisabled(e *listEditor[MCPServer], name string, disabled bool) error {
	at := jsonc.MemberAt(e.text.Root, func(m string) bool { return m == sharedDisabled })
	if at < 0 || jsonc.Member(e.text.Root, sharedDisabled).Value.Value.Kind() != '[' {
		if !disabled {
			return nil
		}
		return e.set("", []string{sharedDisabled}, []jsonc.Scalar{{Text: name, Quoted: true}})
	}
	for {
		list := jsonc.Member(e.text.Root, sharedDisabled).Value
		elements := list.Value.(*hujson.Array).Elements
		i := slices.IndexFunc(elements, func(v hujson.Value) bool { return v.Value.(hujson.Literal).String() == name })
		switch {
		case disabled && i >= 0, !disabled && i < 0:
			return nil
		case disabled:
			return e.splice(e.text.With(list, jsonc.Scalar{Text: name, Quoted: true}))
		case len(elements) == 1 && e.text.Blank(list.StartOffset+1, elements[0].StartOffset) &&
			e.text.Blank(elements[0].EndOffset, list.EndOffset-1):
			return e.splice(e.text.Without(e.text.Root, at))
		}
		if err := e.splice(e.text.Without(list, i)); err != nil {
			return err
		}
	}
}
