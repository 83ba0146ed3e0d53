package definition

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"
)

// The members of a tool that are read here, in the order of their names.
const (
	annotations = iota
	description
	execution
	icons
	inputSchema
	meta
	name
	outputSchema
	title
	allMembers
)

var memberNames = [allMembers]string{
	"annotations", "description", "execution", "icons", "inputSchema", "_meta", "name", "outputSchema", "title",
}

// members are the members of a tool as they were written; nil: it does not have one.
type members [allMembers]json.RawMessage

// read returns the members of a tool. ok is false if readers might disagree about them: one is
// there twice, or another one has its name in another case or with escapes.
func read(item json.RawMessage) (m members, ok bool) {
	all := jsonscan.MembersOf(item, wire.MaxDepth)
	for all.Next() {
		i, plain := memberOf(all.Key)
		switch {
		case !plain, i >= 0 && m[i] != nil:
			return m, false
		case i >= 0:
			m[i] = all.Val
		}
	}
	return m, !all.Bad
}

// memberOf returns the member that a key names, or -1; plain is false if some readers might take
// the key for another one.
func memberOf(key []byte) (i int, plain bool) {
	switch string(key) {
	case "annotations":
		return annotations, true
	case "description":
		return description, true
	case "execution":
		return execution, true
	case "icons":
		return icons, true
	case "inputSchema":
		return inputSchema, true
	case "_meta":
		return meta, true
	case "name":
		return name, true
	case "outputSchema":
		return outputSchema, true
	case "title":
		return title, true
	}
	for _, c := range key {
		if c == '\\' || c >= utf8.RuneSelf {
			return -1, false
		}
	}
	for _, n := range &memberNames {
		if len(key) == len(n) && strings.EqualFold(string(key), n) {
			return -1, false
		}
	}
	return -1, true
}

// wellFormed reports whether Fit returns the tool unchanged. It may miss some of them.
func (m *members) wellFormed() bool {
	if n := jsonscan.TextLen(m[name]); !jsonscan.IsString(m[name]) || n == 0 || n > MaxName {
		return false
	}
	for i, value := range m {
		if value == nil {
			continue
		}
		if check := optionalMembers[memberNames[i]]; check != nil && !check(value) {
			return false
		}
	}
	return isObjectSchema(m[inputSchema]) && (m[outputSchema] == nil || isObjectSchema(m[outputSchema]))
}

// isObjectSchema reports whether fitSchema returns a schema unchanged. It may miss some of them.
func isObjectSchema(schema json.RawMessage) bool {
	typed := false
	m := jsonscan.MembersOf(schema, wire.MaxDepth)
	for m.Next() {
		switch string(m.Key) {
		case "type":
			if typed || string(m.Val) != `"object"` {
				return false
			}
			typed = true
		case "required":
			for all := jsonscan.ElementsOf(m.Val, 0); ; {
				if !all.Next() {
					if all.Bad {
						return false
					}
					break
				}
				if !jsonscan.IsString(all.Val) {
					return false
				}
			}
		case "properties":
			all := jsonscan.MembersOf(m.Val, wire.MaxDepth)
			for all.Next() {
				if !isObject(all.Val) {
					return false
				}
			}
			if all.Bad {
				return false
			}
		default:
			if bytes.IndexByte(m.Key, '\\') >= 0 {
				return false
			}
		}
	}
	return typed && !m.Bad
}

// Tool is a tool as a list describes it.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"inputSchema"`
	Annotations Annotations     `json:"annotations"`
}

// Annotations hold a server's own hints about a tool's effects.
type Annotations struct {
	Title      string `json:"title"`
	ReadOnly   bool   `json:"readOnlyHint"`
	Idempotent bool   `json:"idempotentHint"`
}

// Read returns a listed tool in its repaired form (Fit).
func Read(item json.RawMessage) (t Tool, err error) {
	_, fit, err := Fit(item)
	if err != nil {
		return t, err
	}
	m, ok := read(fit)
	if !ok {
		err = wire.Unmarshal(fit, &t)
		return t, err
	}
	t.Name, t.Title, t.Description = jsonscan.Text(m[name]), jsonscan.Text(m[title]), jsonscan.Text(m[description])
	if t.Schema = m[inputSchema]; m[annotations] != nil {
		err = wire.Unmarshal(m[annotations], &t.Annotations)
	}
	return t, err
}

// pinned are the members that Canonical keeps, in the order of their names: all that a model reads,
// and the tool's permissions.
var pinned = [...]int{annotations, description, inputSchema, outputSchema, title}

// Canonical returns a tool's description with its members in a fixed order; "": it is not an
// object. A member whose name differs from a pinned one only in case counts too, because some
// clients accept it.
func Canonical(item json.RawMessage) string {
	m, ok := read(item)
	if !ok {
		return decoded(item)
	}
	b := make([]byte, 0, len(item))
	b = append(b, '{')
	for _, i := range pinned {
		if m[i] == nil || string(m[i]) == "null" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), memberNames[i]...), `":`...)
		if b, ok = jsonscan.AppendSorted(b, m[i]); !ok {
			return decoded(item)
		}
	}
	return string(append(b, '}'))
}

// decoded is Canonical for any tool.
func decoded(item json.RawMessage) string {
	var all map[string]any
	d := json.NewDecoder(bytes.NewReader(item))
	d.UseNumber()
	if d.Decode(&all) != nil {
		return ""
	}
	some := map[string]any{}
	for key, v := range all {
		for _, i := range pinned {
			if v != nil && strings.EqualFold(memberNames[i], key) {
				some[key] = v
			}
		}
		if key != "name" && strings.EqualFold(key, "name") {
			some[key] = v
		}
	}
	return string(wire.JSON(some)) // sorted by name
}
