package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"dragoman/core/jsonscan"
)

// schema is an object of a JSON schema. Its members keep their order, because models read them in it.
type schema struct{ members []jsonscan.Member }

// MarshalJSON implements json.Marshaler.
func (s *schema) MarshalJSON() ([]byte, error) { return jsonscan.Object(s.members).MarshalJSON() }

func (s *schema) get(name string) any {
	for _, m := range s.members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

func (s *schema) has(name string) bool {
	return slices.ContainsFunc(s.members, func(m jsonscan.Member) bool { return m.Name == name })
}

// object returns a member that is an object, or nil.
func (s *schema) object(name string) *schema {
	o, _ := s.get(name).(*schema)
	return o
}

func (s *schema) text(name string) string {
	t, _ := s.get(name).(string)
	return t
}

func (s *schema) set(name string, v any) {
	for i := range s.members {
		if s.members[i].Name == name {
			s.members[i].Value = v
			return
		}
	}
	s.members = append(s.members, jsonscan.Member{Name: name, Value: v})
}

func (s *schema) drop(names ...string) {
	s.members = slices.DeleteFunc(s.members, func(m jsonscan.Member) bool { return slices.Contains(names, m.Name) })
}

// list returns the texts of a member that is a list of texts.
func (s *schema) list(name string) (texts []string) {
	all, _ := s.get(name).([]any)
	for _, v := range all {
		if t, ok := v.(string); ok {
			texts = append(texts, t)
		}
	}
	return texts
}

// parseSchema reads a JSON value: objects as *schema, numbers as they are written.
func parseSchema(raw []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := nextValue(d)
	return v, err == nil
}

func nextValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		s := &schema{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := nextValue(d)
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			s.set(name, v)
		}
		_, err = d.Token()
		return s, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := nextValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return t, nil
}

// cloned returns a deep copy of a value.
func cloned(v any) any {
	switch v := v.(type) {
	case *schema:
		out := &schema{}
		for _, m := range v.members {
			out.members = append(out.members, jsonscan.Member{Name: m.Name, Value: cloned(m.Value)})
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cloned(v[i])
		}
		return out
	}
	return v
}

// written returns a value as JSON.
func written(v any) string {
	b, err := jsonscan.Append(nil, v)
	if err != nil {
		return ""
	}
	return string(b)
}

// The keywords whose values are schemas, by the shape of the value.
var (
	oneSchema  = []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems"}
	someNamed  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	someListed = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
)

// each calls visit for each schema directly below s and puts its result in the schema's place.
func (s *schema) each(visit func(keyword string, v any) any) {
	for i := range s.members {
		m := &s.members[i]
		switch v := m.Value.(type) {
		case []any:
			if slices.Contains(someListed, m.Name) {
				for j := range v {
					v[j] = visit(m.Name, v[j])
				}
			}
		case *schema:
			switch {
			case slices.Contains(someNamed, m.Name):
				for j := range v.members {
					v.members[j].Value = visit(m.Name, v.members[j].Value)
				}
			case slices.Contains(oneSchema, m.Name):
				m.Value = visit(m.Name, v)
			}
		default:
			if slices.Contains(oneSchema, m.Name) {
				m.Value = visit(m.Name, v)
			}
		}
	}
}

// resolved returns the value that a reference within the document root points to; nil: there is none.
func resolved(root *schema, ref string) any {
	if ref == "#" {
		return root
	}
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var at any = root
	for step := range strings.SplitSeq(rest, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~", "%24", "$", "%20", " ").Replace(step)
		switch v := at.(type) {
		case *schema:
			at = v.get(step)
		case []any:
			n := -1
			if json.Unmarshal([]byte(step), &n) != nil || n < 0 || n >= len(v) {
				return nil
			}
			at = v[n]
		default:
			return nil
		}
	}
	return at
}

// typeNames are the types of JSON schema, and what is often written for them; "" means any type.
var typeNames = map[string]string{
	"string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "object": "object", "array": "array", "null": "null",
	"str": "string", "int": "integer", "float": "number", "double": "number", "bool": "boolean", "dict": "object", "map": "object", "list": "array", "any": "",
}

// valueForms are keywords whose values services check, and the form of the values.
var valueForms = map[string]func(any) bool{
	"title": isA[string], "description": isA[string], "$comment": isA[string], "format": isA[string], "pattern": isA[string], "$ref": isA[string],
	"minimum": isA[json.Number], "maximum": isA[json.Number], "multipleOf": isA[json.Number], "minLength": isA[json.Number],
	"maxLength": isA[json.Number], "minItems": isA[json.Number], "maxItems": isA[json.Number], "minProperties": isA[json.Number],
	"maxProperties": isA[json.Number], "minContains": isA[json.Number], "maxContains": isA[json.Number], "uniqueItems": isA[bool], "deprecated": isA[bool],
	"readOnly": isA[bool], "writeOnly": isA[bool], "examples": isA[[]any], "properties": isA[*schema], "patternProperties": isA[*schema], "$defs": isA[*schema],
	"definitions": isA[*schema], "enum": isList, "anyOf": isList, "oneOf": isList, "allOf": isList, "prefixItems": isList,
	"required": func(v any) bool {
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(v any) bool { return !isA[string](v) })
	},
}

func isA[T any](v any) bool { _, ok := v.(T); return ok }

func isList(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0
}

// tidy puts a schema of an earlier draft, or one that is not well-formed, into the form of draft 2020-12, which
// services check. It reports whether it has changed anything.
func tidy(v any, root *schema, property bool) (_ any, changed bool) {
	s, ok := v.(*schema)
	if !ok {
		switch allowed, isBool := v.(bool); {
		case isBool && !property:
			return v, false
		case isBool && !allowed:
			return &schema{[]jsonscan.Member{{Name: "not", Value: &schema{}}}}, true
		}
		return &schema{}, true
	}
	for _, m := range slices.Clone(s.members) {
		if form := valueForms[m.Name]; form != nil && !form(m.Value) {
			s.drop(m.Name)
			changed = true
		}
	}
	changed = tidyType(s) || changed
	for _, limit := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		exclusive, isBool := s.get(limit[0]).(bool)
		if !isBool {
			continue
		}
		changed = true
		bound := s.get(limit[1])
		s.drop(limit[0])
		if exclusive && bound != nil {
			s.drop(limit[1])
			s.set(limit[0], bound)
		}
	}
	if tuple, isTuple := s.get("items").([]any); isTuple {
		changed = true
		s.drop("items")
		if len(tuple) > 0 && !s.has("prefixItems") {
			s.set("prefixItems", tuple)
		}
	}
	if ref := s.text("$ref"); ref != "" && strings.HasPrefix(ref, "#/") && resolved(root, ref) == nil {
		changed = true
		s.drop("$ref")
	}
	s.each(func(keyword string, v any) any {
		inside := slices.Contains(someNamed, keyword) || slices.Contains(someListed, keyword) || keyword == "items"
		v, c := tidy(v, root, inside)
		changed = changed || c
		return v
	})
	if typed := s.get("type"); typed == "array" && !s.has("items") || slices.Contains(s.list("type"), "array") && !s.has("items") {
		changed = true
		s.set("items", &schema{})
	}
	return s, changed
}

// tidyType corrects the names of types.
func tidyType(s *schema) (changed bool) {
	switch t := s.get("type").(type) {
	case nil:
		if s.has("type") {
			s.drop("type")
			return true
		}
	case string:
		is := typeNames[strings.ToLower(t)]
		if is == t {
			return false
		}
		if s.drop("type"); is != "" {
			s.members = slices.Insert(s.members, 0, jsonscan.Member{Name: "type", Value: is})
		}
		return true
	case []any:
		var list []any
		for _, one := range t {
			name, _ := one.(string)
			if is := typeNames[strings.ToLower(name)]; is != "" && !slices.Contains(list, any(is)) {
				list = append(list, is)
			}
		}
		if slices.Equal(list, t) && len(list) > 0 {
			return false
		}
		if s.drop("type"); len(list) > 0 {
			s.set("type", list)
		}
		return true
	default:
		s.drop("type")
		return true
	}
	return false
}
