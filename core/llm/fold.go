package llm

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/core/display"
)

// unions are the keywords that services refuse at the top of a tool's schema.
var unions = []string{"allOf", "anyOf", "oneOf", "enum", "const", "not"}

// maxAlternatives limits the text about the alternatives of a tool's arguments, in bytes.
const maxAlternatives = 4 << 10

// fold makes one object of the alternatives at the top of a schema: it has the properties of all of them, and requires
// what all of them require. told says in words what the schema no longer says.
func fold(root *schema) (told string, folded bool) {
	if !slices.ContainsFunc(unions, root.has) && !root.has("$ref") {
		return "", false
	}
	f := folder{doc: cloned(root).(*schema)}
	f.inline(root, 0)
	return display.Cut(f.merge(root, root, 0), maxAlternatives), true
}

// folder folds the alternatives of one document.
type folder struct{ doc *schema }

// maxNested limits how deep alternatives and references are followed.
const maxNested = 12

// merge moves what the unions of s say into the object to, and returns the alternatives in words.
func (f *folder) merge(s, to *schema, depth int) (told string) {
	var notes []string
	for range maxNested {
		ref := s.text("$ref")
		target, ok := resolved(f.doc, ref).(*schema)
		s.drop("$ref")
		if ref == "" || !ok {
			break
		}
		for _, m := range cloned(target).(*schema).members {
			if !s.has(m.Name) {
				s.set(m.Name, m.Value)
			}
		}
	}
	if s != to {
		addProperties(to, s)
		require(to, s.list("required"))
	}
	all, _ := s.get("allOf").([]any)
	for _, v := range all {
		branch, ok := v.(*schema)
		if !ok || depth == maxNested {
			continue
		}
		if t := f.merge(branch, to, depth+1); t != "" {
			notes = append(notes, t)
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list, _ := s.get(keyword).([]any)
		var common, words []string
		for i, v := range list {
			branch, ok := v.(*schema)
			if !ok || depth == maxNested {
				continue
			}
			own := &schema{}
			nested := f.merge(branch, own, depth+1)
			addProperties(to, own)
			needed := own.list("required")
			if i == 0 {
				common = needed
			}
			common = slices.DeleteFunc(slices.Clone(common), func(name string) bool { return !slices.Contains(needed, name) })
			words = append(words, alternative(branch.text("title"), own, nested))
		}
		require(to, common)
		if words != nil {
			notes = append(notes, choice(keyword, words))
		}
	}
	for _, keyword := range []string{"enum", "const", "not"} {
		if s.has(keyword) {
			notes = append(notes, `It has to fit {"`+keyword+`": `+written(s.get(keyword))+"}.")
		}
	}
	s.drop(unions...)
	to.drop("$ref")
	return strings.Join(notes, " ")
}

// choice lists alternatives.
func choice(keyword string, words []string) string {
	var b strings.Builder
	b.WriteString("The arguments have to fit at least one of these alternatives:")
	if keyword == "oneOf" {
		b.Reset()
		b.WriteString("The arguments have to fit exactly one of these alternatives:")
	}
	for i, w := range words {
		fmt.Fprintf(&b, " (%d) %s;", i+1, w)
	}
	return strings.TrimSuffix(b.String(), ";") + "."
}

// alternative describes an alternative by its title and its arguments.
func alternative(title string, own *schema, nested string) string {
	var parts, fixed, needed, optional []string
	required := own.list("required")
	if all := own.object("properties"); all != nil {
		for _, m := range all.members {
			p, _ := m.Value.(*schema)
			switch values := p.values(); {
			case !slices.Contains(required, m.Name):
				optional = append(optional, m.Name)
			case len(values) == 1:
				fixed = append(fixed, m.Name+" = "+written(values[0]))
			}
		}
	}
	for _, name := range required {
		if !slices.ContainsFunc(fixed, func(f string) bool { return strings.HasPrefix(f, name+" = ") }) {
			needed = append(needed, name)
		}
	}
	if title != "" {
		parts = append(parts, display.Cut(title, 120))
	}
	parts = append(parts, fixed...)
	if needed != nil {
		parts = append(parts, "with "+strings.Join(needed, ", "))
	}
	if optional != nil {
		parts = append(parts, "optionally "+strings.Join(optional, ", "))
	}
	if nested != "" {
		parts = append(parts, nested)
	}
	if parts == nil {
		return "without arguments that have to be there"
	}
	return strings.Join(parts, ", ")
}

// addProperties adds the properties and definitions of an object to another one.
func addProperties(to, from *schema) {
	for _, keyword := range someNamed {
		more := from.object(keyword)
		if more == nil {
			continue
		}
		all := to.object(keyword)
		if all == nil {
			all = &schema{}
			to.set(keyword, all)
		}
		for _, m := range more.members {
			if !all.has(m.Name) {
				all.set(m.Name, m.Value)
				continue
			}
			all.set(m.Name, either(all.get(m.Name), m.Value))
		}
	}
}

// either returns a schema that allows what two schemas allow.
func either(a, b any) any {
	if written(a) == written(b) {
		return a
	}
	x, okX := a.(*schema)
	y, okY := b.(*schema)
	if !okX || !okY {
		return a
	}
	if vx, vy := x.values(), y.values(); vx != nil && vy != nil && written(x.get("type")) == written(y.get("type")) {
		both := cloned(x).(*schema)
		both.drop("const")
		for _, v := range vy {
			if !slices.ContainsFunc(vx, func(w any) bool { return written(v) == written(w) }) {
				vx = append(vx, v)
			}
		}
		both.set("enum", vx)
		return both
	}
	either := &schema{}
	list, _ := x.get("anyOf").([]any)
	if len(x.members) != 1 || list == nil {
		list = []any{x}
	}
	if !slices.ContainsFunc(list, func(v any) bool { return written(v) == written(y) }) {
		list = append(slices.Clone(list), y)
	}
	either.set("anyOf", list)
	return either
}

// values returns the values that a schema lists, or nil.
func (s *schema) values() []any {
	switch {
	case s == nil:
		return nil
	case s.has("const"):
		return []any{s.get("const")}
	}
	list, _ := s.get("enum").([]any)
	return slices.Clone(list)
}

func require(s *schema, names []string) {
	all, _ := s.get("required").([]any)
	for _, n := range names {
		if !slices.Contains(all, any(n)) {
			all = append(slices.Clone(all), n)
		}
	}
	if len(all) > 0 {
		s.set("required", all)
	}
}

// inline replaces references into the unions that are gone.
func (f *folder) inline(s *schema, depth int) {
	s.each(func(_ string, v any) any {
		one, ok := v.(*schema)
		if !ok {
			return v
		}
		for _, gone := range []string{"#/anyOf/", "#/oneOf/", "#/allOf/"} {
			if ref := one.text("$ref"); strings.HasPrefix(ref, gone) {
				target, found := resolved(f.doc, ref).(*schema)
				if !found || depth >= maxNested {
					return &schema{}
				}
				one = cloned(target).(*schema)
				break
			}
		}
		f.inline(one, depth+1)
		return one
	})
}
