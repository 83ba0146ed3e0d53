package llm

import (
	"slices"
	"strings"
)

// subsetter writes schemas with the keywords of Gemini's, a subset of OpenAPI 3.0.
// https://ai.google.dev/api/caching#Schema
type subsetter struct {
	doc  *schema
	open []string // references that are being followed
}

// subsetKeywords are copied as they are.
var subsetKeywords = []string{
	"title", "description", "nullable", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "pattern",
}

// subsetFormats are the formats that are accepted, by type.
var subsetFormats = map[string][]string{
	"string": {"enum", "date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"},
}

// of returns the schema that says as much of v as can be said.
func (b *subsetter) of(v any, depth int) *schema {
	s, ok := v.(*schema)
	if !ok || depth > maxNested {
		return textSchema()
	}
	if ref := s.text("$ref"); ref != "" {
		target, found := resolved(b.doc, ref).(*schema)
		if !found || slices.Contains(b.open, ref) {
			out := &schema{}
			out.set("type", "object")
			out.set("description", strings.TrimSpace(s.text("description")+" (as described above)"))
			return out
		}
		b.open = append(b.open, ref)
		defer func() { b.open = b.open[:len(b.open)-1] }()
		target = cloned(target).(*schema)
		if about := s.text("description"); about != "" {
			target.set("description", about)
		}
		return b.of(target, depth+1)
	}
	if s.has("allOf") {
		merged := cloned(s).(*schema)
		(&folder{doc: b.doc}).merge(merged, merged, 0)
		return b.of(merged, depth+1)
	}
	types, nullable := b.types(s)
	if branches := b.branches(s, types); len(branches) > 0 {
		return b.union(s, branches, nullable, depth)
	}
	kind := "string"
	if len(types) > 0 {
		kind = types[0]
	}
	out := &schema{}
	out.set("type", kind)
	out.set("description", s.text("description"))
	defer func() {
		if out.text("description") == "" {
			out.drop("description")
		}
	}()
	for _, m := range s.members {
		if slices.Contains(subsetKeywords, m.Name) {
			out.set(m.Name, m.Value)
		}
	}
	if format := s.text("format"); slices.Contains(subsetFormats[kind], format) {
		out.set("format", format)
	} else if format != "" {
		note(out, "Format: "+format+".")
	}
	if nullable {
		out.set("nullable", true)
	}
	b.values(s, out, kind)
	if s.has("default") {
		note(out, "Default: "+written(s.get("default"))+".")
	}
	switch kind {
	case "object":
		b.properties(s, out, depth)
	case "array":
		if s.has("prefixItems") && written(s.get("items")) == "{}" {
			note(out, "Its elements: "+written(s.get("prefixItems"))+".")
		}
		out.set("items", b.of(s.get("items"), depth+1))
	}
	return out
}

func textSchema() *schema {
	out := &schema{}
	out.set("type", "string")
	return out
}

// note adds a sentence to a schema's description.
func note(s *schema, text string) {
	s.set("description", strings.TrimSpace(s.text("description")+" "+text))
}

// types returns the types of a schema without null, which is a property of its own.
func (b *subsetter) types(s *schema) (types []string, nullable bool) {
	types = s.list("type")
	if one := s.text("type"); one != "" {
		types = []string{one}
	}
	nullable = slices.Contains(types, "null")
	types = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
	if len(types) > 0 {
		return types, nullable
	}
	switch {
	case s.has("properties"):
		types = []string{"object"}
	case s.has("items"):
		types = []string{"array"}
	}
	return types, nullable
}

// branches returns the alternatives of a schema.
func (b *subsetter) branches(s *schema, types []string) (list []any) {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		some, _ := s.get(keyword).([]any)
		list = append(list, some...)
	}
	if list != nil || len(types) < 2 {
		return list
	}
	for _, t := range types {
		one := cloned(s).(*schema)
		one.drop("type", "title", "description", "default")
		one.set("type", t)
		list = append(list, one)
	}
	return list
}

// union writes alternatives; null is no alternative but a property.
func (b *subsetter) union(s *schema, branches []any, nullable bool, depth int) *schema {
	var list []any
	for _, v := range branches {
		if one, ok := v.(*schema); ok && (one.text("type") == "null" || one.has("const") && one.get("const") == nil) {
			nullable = true
			continue
		}
		list = append(list, b.of(v, depth+1))
	}
	out := &schema{}
	switch len(list) {
	case 0:
		out = textSchema()
	case 1:
		out = list[0].(*schema)
	default:
		out.set("anyOf", list)
	}
	if about := s.text("description"); about != "" {
		out.set("description", about)
	}
	if nullable {
		out.set("nullable", true)
	}
	return out
}

// values lists the values of texts; those of other types are told in the description.
func (b *subsetter) values(s, out *schema, kind string) {
	all := s.values()
	if all == nil {
		return
	}
	list := slices.DeleteFunc(slices.Clone(all), func(v any) bool { t, ok := v.(string); return !ok || t == "" })
	if kind == "string" && len(list) > 0 {
		out.set("enum", list)
	}
	if kind != "string" || len(list) != len(all) {
		note(out, "One of: "+strings.Trim(written(all), "[]")+".")
	}
}

// properties writes the properties of an object. Required ones have to be there.
func (b *subsetter) properties(s, out *schema, depth int) {
	all := s.object("properties")
	if all == nil || len(all.members) == 0 {
		if depth == 0 {
			out.set("properties", &schema{})
		}
		return
	}
	some := &schema{}
	for _, m := range all.members {
		some.set(m.Name, b.of(m.Value, depth+1))
	}
	out.set("properties", some)
	required := slices.DeleteFunc(s.list("required"), func(n string) bool { return !some.has(n) })
	if len(required) > 0 {
		list := make([]any, len(required))
		for i, n := range required {
			list[i] = n
		}
		out.set("required", list)
	}
}
