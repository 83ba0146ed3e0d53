// Package definition reads the tools in lists of MCP servers, and repairs them: many clients reject a
// whole list because of one malformed tool.
//
// A list may have thousands of tools, nearly all of them well-formed. Those are read by one walk over
// their members (read.go); what readers might disagree about is decoded.
package definition

import (
	"encoding/json"
	"fmt"
	"slices"

	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"
)

// anyObject replaces the schema of a tool that does not describe an object.
var anyObject = json.RawMessage(`{"type":"object"}`)

// checks holds a validation for each member of an object, by name.
type checks map[string]func(json.RawMessage) bool

// optionalMembers validates a tool's members other than its name and its schemas.
var optionalMembers = checks{
	"title":       isText,
	"description": isText,
	"annotations": checks{
		"title":           isText,
		"readOnlyHint":    isBool,
		"destructiveHint": isBool,
		"idempotentHint":  isBool,
		"openWorldHint":   isBool,
	}.pass,
	"icons":     areIcons,
	"execution": checks{"taskSupport": oneOf("required", "optional", "forbidden")}.pass,
	"_meta":     isObject,
}

var iconMembers = checks{
	"src":      isText,
	"mimeType": isText,
	"sizes":    decodes[[]string],
	"theme":    oneOf("light", "dark"),
}

// pass reports whether a value is an object, and its members pass the checks.
func (c checks) pass(value json.RawMessage) bool {
	if !isObject(value) {
		return false
	}
	members := wire.Object(value)
	for name, check := range c {
		if v, ok := members[name]; ok && !check(v) {
			return false
		}
	}
	return true
}

func areIcons(value json.RawMessage) bool {
	var icons []json.RawMessage
	return wire.Unmarshal(value, &icons) == nil && !slices.ContainsFunc(icons, func(icon json.RawMessage) bool {
		return !iconMembers.pass(icon) || wire.Object(icon)["src"] == nil
	})
}

func oneOf(words ...string) func(json.RawMessage) bool {
	return func(value json.RawMessage) bool {
		var word string
		return wire.Unmarshal(value, &word) == nil && slices.Contains(words, word)
	}
}

func isText(value json.RawMessage) bool { return jsonscan.IsString(value) }

func isBool(value json.RawMessage) bool { return string(value) == "true" || string(value) == "false" }

func isObject(value json.RawMessage) bool { return len(value) > 0 && value[0] == '{' }

// decodes reports whether a value is a T.
func decodes[T any](value json.RawMessage) bool {
	var v T
	return string(value) != "null" && wire.Unmarshal(value, &v) == nil
}

// MaxName limits the name of a tool at a server, in bytes.
const MaxName = 256

// Fit returns the name of a listed tool, and the tool in a form that every client can read. An
// input schema that does not describe an object is replaced by one that allows every object,
// because the server checks arguments anyway; an optional member of the wrong type is removed. A
// well-formed tool is returned unchanged. A tool without a usable name is an error.
func Fit(item json.RawMessage) (named string, tool json.RawMessage, err error) {
	if m, ok := read(item); ok && m.wellFormed() {
		return jsonscan.Text(m[name]), item, nil
	}
	return repaired(item)
}

// repaired is Fit for any tool.
func repaired(item json.RawMessage) (named string, tool json.RawMessage, err error) {
	var t struct {
		Name string `json:"name"`
	}
	if err := wire.Unmarshal(item, &t); err != nil {
		return "", nil, err
	}
	if t.Name == "" || len(t.Name) > MaxName {
		return "", nil, fmt.Errorf("its name %.40q has %d bytes", t.Name, len(t.Name))
	}
	members := wire.Object(item)
	var changes []wire.Member
	for name, check := range optionalMembers {
		if value, ok := members[name]; ok && !check(value) {
			changes = append(changes, wire.Set(name, nil))
		}
	}
	input := fitSchema(members["inputSchema"])
	if input == nil {
		input = anyObject
	}
	changes = replaced(changes, members, "inputSchema", input)
	if output, ok := members["outputSchema"]; ok {
		changes = replaced(changes, members, "outputSchema", fitSchema(output))
	}
	if changes == nil {
		return t.Name, item, nil
	}
	return t.Name, wire.Edit(item, changes...), nil
}

// replaced adds a change to changes unless the member already has the value.
func replaced(
	changes []wire.Member,
	members map[string]json.RawMessage,
	name string,
	value json.RawMessage,
) []wire.Member {
	if was, ok := members[name]; ok && string(was) == string(value) {
		return changes
	}
	return append(changes, wire.Set(name, value))
}

// fitSchema returns a schema of an object, with corrected values for the members that clients
// check; nil: it does not describe an object. A missing type, or a list of types with object,
// becomes object.
func fitSchema(schema json.RawMessage) json.RawMessage {
	if !isObject(schema) {
		return nil
	}
	members := wire.Object(schema)
	var changes []wire.Member
	if kind, ok := members["type"]; !ok {
		changes = append(changes, wire.Set("type", json.RawMessage(`"object"`)))
	} else if string(kind) != `"object"` {
		var kinds []string
		if json.Unmarshal(kind, &kinds) != nil || !slices.Contains(kinds, "object") {
			return nil
		}
		changes = append(changes, wire.Set("type", json.RawMessage(`"object"`)))
	}
	if required, ok := members["required"]; ok && !decodes[[]string](required) {
		changes = append(changes, wire.Set("required", nil))
	}
	if all, ok := members["properties"]; ok {
		if fit := fitProperties(all); string(fit) != string(all) {
			changes = append(changes, wire.Set("properties", fit))
		}
	}
	if changes == nil {
		return schema
	}
	return wire.Edit(schema, changes...)
}

// fitProperties returns the properties of a schema with an object for each of them: the schema
// true becomes {}, and false {"not":{}}. nil: they are not an object.
func fitProperties(all json.RawMessage) json.RawMessage {
	if !isObject(all) {
		return nil
	}
	var changes []wire.Member
	for name, schema := range wire.Object(all) {
		switch {
		case isObject(schema):
		case string(schema) == "false":
			changes = append(changes, wire.Set(name, json.RawMessage(`{"not":{}}`)))
		default:
			changes = append(changes, wire.Set(name, json.RawMessage(`{}`)))
		}
	}
	if changes == nil {
		return all
	}
	return wire.Edit(all, changes...)
}
