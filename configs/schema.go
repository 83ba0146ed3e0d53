package configs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strconv"

	"dragoman/core/jsonscan"
)

// SchemaJSON returns the JSON Schema (2020-12) of a configuration file, which editors use to
// complete and check one. It is as strict as Parse about keys, types, words and limits; only Load
// checks dependencies between settings.
func SchemaJSON() []byte {
	g := &schemaWriter{defs: map[string]object{}}
	root := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "dragoman configuration"},
		{
			"description",
			"The user's own file. An ECA editor may send the same settings as initializationOptions. Those that only restrict (policy.deny, policy.ask, disabled_tools, limits below their defaults) apply at once. Those that allow more (model, fallback, providers, policy.allow and the like) apply once you have seen them and agreed. You are asked about MCP servers before they are started.",
		},
	}
	root = append(root, g.structure(reflect.TypeFor[Config]())...)
	return g.write(root)
}

// ServersSchemaJSON returns the JSON Schema (2020-12) of mcp.json. Unknown members are allowed,
// because they belong to other programs.
func ServersSchemaJSON() []byte {
	g := &schemaWriter{defs: map[string]object{}, shared: true}
	server := g.structure(reflect.TypeFor[MCPServer]())
	return g.write(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "dragoman's MCP servers"},
		{
			"description",
			"mcp.json beside the configuration, in the form that MCP programs share. Texts may hold ${NAME}, ${NAME:-DEFAULT}, ${workspaceFolder} and ${file:PATH}, those of env and headers also ${cmd:PROGRAM ARGUMENTS}; $${ is a plain ${. A server of the same name in config.yaml wins.",
		},
		{"type", "object"},
		{"properties", object{
			{sharedServers, object{
				{"description", "MCP servers by name."},
				{"type", []string{"object", "null"}},
				{"additionalProperties", server},
			}},
			{sharedDisabled, object{
				{"description", "Names of servers that are left alone, also of those in config.yaml."},
				{"type", []string{"array", "null"}},
				{"items", object{{"type", "string"}}},
			}},
		}},
	})
}

// AgentsSchemaJSON returns the JSON Schema (2020-12) of agents.json.
func AgentsSchemaJSON() []byte {
	g := &schemaWriter{defs: map[string]object{}}
	agent := g.structure(reflect.TypeFor[Agent]())
	pasted := object{
		{"type", "object"},
		{"properties", object{
			{"type", object{{"const", "custom"}}},
			{"command", object{{"type", "string"}, {"minLength", 1}}},
			{"args", object{{"type", "array"}, {"items", object{{"type", "string"}}}}},
			{"env", object{{"type", "object"}, {"additionalProperties", object{{"type", "string"}}}}},
		}},
		{"required", []string{"command"}},
	}
	entries := func(doc string) object {
		return object{
			{"description", doc},
			{"type", []string{"object", "null"}},
			{"propertyNames", object{{"pattern", namePattern("name")}}},
			{"additionalProperties", object{{"anyOf", []object{agent, pasted}}}},
		}
	}
	return g.write(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "dragoman's agents"},
		{
			"description",
			"agents.json beside the configuration, which the commands dragoman agents add, update, remove and import change. An agent of the same name in config.yaml wins.",
		},
		{"type", "object"},
		{"properties", object{
			{"agents", entries("Agents by name, in the form of agents in config.yaml or of an editor's agent_servers.")},
			{"agent_servers", entries("The same, as editors name it.")},
		}},
	})
}

// sharedNames are the names of settings of an MCP server in mcp.json, if they differ.
var sharedNames = map[string]string{"dir": "cwd", "transport": "type"}

// sharedName returns the name of a setting of an MCP server in mcp.json.
func sharedName(setting string) string { return cmp.Or(sharedNames[setting], setting) }

// write writes a schema with its definitions.
func (g *schemaWriter) write(root object) []byte {
	defs := object{}
	for _, name := range g.order {
		defs = append(defs, member{name, g.defs[name]})
	}
	root = append(root, member{"$defs", defs})
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(root) // strings, numbers, lists and objects of them never fail
	return b.Bytes()
}

type (
	object = jsonscan.Object
	member = jsonscan.Member
)

type schemaWriter struct {
	defs   map[string]object
	order  []string
	shared bool // the schema is for mcp.json
}

func (g *schemaWriter) structure(t reflect.Type) object {
	properties := object{}
	for _, f := range fieldsOf(t) {
		name := f.name
		if g.shared {
			if name = sharedName(name); name == "type" {
				f.enum, f.def = []string{"stdio", "http", "streamable-http", "sse"}, ""
				f.doc = "stdio for a command; for a url http or streamable-http, or sse, the older HTTP with SSE. Left out: stdio, or http, or sse where the address ends with /sse."
			}
		}
		properties = append(properties, member{name, g.setting(t.Field(f.index).Type, f)})
	}
	exactly, atLeast := choices(t)
	if g.shared && exactly != nil {
		const doc = "Another name for url."
		properties = append(properties, member{"serverUrl", object{{"description", doc}, {"type", "string"}, {"minLength", 1}}})
		exactly = append(exactly, "serverUrl")
	}
	s := object{{"type", "object"}, {"properties", properties}, {"additionalProperties", g.shared}}
	if exactly != nil {
		s = append(s, member{"oneOf", required(exactly)})
	}
	if atLeast != nil {
		s = append(s, member{"anyOf", required(atLeast)})
	}
	return s
}

func required(names []string) []object {
	var all []object
	for _, name := range names {
		all = append(all, object{{"required", []string{name}}})
	}
	return all
}

func (g *schemaWriter) setting(t reflect.Type, f field) object {
	s := object{}
	if f.doc != "" {
		s = append(s, member{"description", f.doc})
	}
	s = append(s, g.typed(t, f)...)
	if f.def != "" {
		var def any = f.def
		if shape := shapeOf(t); shape == shapeBool || shape == shapeInt {
			def = json.RawMessage(f.def)
		}
		s = append(s, member{"default", def})
	}
	return s
}

// typed describes a type. Sections and lists may be empty (null), as in a file whose settings
// below a key are all commented out.
func (g *schemaWriter) typed(t reflect.Type, f field) object {
	switch shapeOf(t) {
	case shapeStruct:
		return object{{"anyOf", []object{{{"$ref", g.ref(t)}}, {{"type", "null"}}}}}
	case shapeMap:
		s := object{{"type", []string{"object", "null"}}}
		if pattern := namePattern(f.names); pattern != "" {
			s = append(s, member{"propertyNames", object{{"pattern", pattern}}})
		}
		elem := g.typed(t.Elem(), field{emptyOK: true})
		if g.shared {
			elem = object{{"type", []string{"string", "number", "boolean", "null"}}}
		}
		return append(s, member{"additionalProperties", elem})
	case shapeList:
		items := member{"items", g.typed(t.Elem(), field{emptyOK: true, enum: f.enum})}
		if f.line {
			return object{{"type", []string{"array", "string", "null"}}, items, {"minLength", 1}}
		}
		return object{{"type", []string{"array", "null"}}, items}
	case shapeBool:
		return object{{"type", "boolean"}}
	case shapeInt:
		s := object{{"type", "integer"}}
		if n, err := strconv.Atoi(f.min); err == nil {
			s = append(s, member{"minimum", n})
		}
		if n, err := strconv.Atoi(f.max); err == nil {
			s = append(s, member{"maximum", n})
		}
		return s
	case shapeNumber:
		return object{{"type", "number"}, {"minimum", 0}}
	case shapeDuration:
		pattern := member{"pattern", `^([0-9]+d$|([0-9]+d)?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$)`}
		if f.min == "0s" { // which can be written without a unit
			return object{{"type", []string{"string", "integer"}}, pattern, {"minimum", 0}, {"maximum", 0}}
		}
		return object{{"type", "string"}, pattern}
	case shapeString, shapeText:
	}
	if t == reflect.TypeFor[Option]() {
		return object{{"type", []string{"string", "number", "boolean"}}}
	}
	s := object{{"type", "string"}}
	if f.enum != nil {
		return append(s, member{"enum", f.enum})
	}
	if !f.emptyOK {
		s = append(s, member{"minLength", 1})
	}
	return s
}

// ref returns the name of a struct's definition, and writes the definition if it is new.
func (g *schemaWriter) ref(t reflect.Type) string {
	if _, ok := g.defs[t.Name()]; !ok {
		g.defs[t.Name()] = nil
		g.order = append(g.order, t.Name())
		g.defs[t.Name()] = g.structure(t)
	}
	return "#/$defs/" + t.Name()
}

// namePattern is badName for a schema.
func namePattern(kind string) string {
	switch kind {
	case "name":
		return `^[A-Za-z0-9_-]{1,64}$`
	case "header":
		return "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
	case "model":
		return `^[^ \t\r\n]+$`
	case "variable":
		return `^[^\u0000-\u0020=\u007f]+$`
	}
	return ""
}
