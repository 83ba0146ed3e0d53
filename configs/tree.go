package configs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// tree is a mapping that is to be written: settings in their order.
type tree []setting

type setting struct {
	key   string
	value any // scalar, []scalar or tree
}

// scalar is one value. A bare one (a number, true, false) stands without quotes.
type scalar struct {
	text   string
	quoted bool
}

func (t tree) get(key string) (any, bool) {
	i := slices.IndexFunc(t, func(s setting) bool { return s.key == key })
	if i < 0 {
		return nil, false
	}
	return t[i].value, true
}

// ShowServers writes entries as AddServer does, with secrets hidden.
func ShowServers(servers map[string]MCPServer) string {
	var all tree
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		all = append(all, setting{name, shownTree(servers[name])})
	}
	return form{eol: "\n", step: "  "}.block(tree{{serversKey, all}}, "")
}

// shownTree is treeOf with secrets hidden.
func shownTree(s MCPServer) tree {
	return structOf(reflect.ValueOf(s), func(t readable) string { return t.(fmt.Stringer).String() })
}

// treeOf lists what a server's entry says, without what holds by default.
func treeOf(s MCPServer) tree { return structOf(reflect.ValueOf(s), readable.written) }

func structOf(v reflect.Value, spell func(readable) string) tree {
	var t tree
	for _, f := range fieldsOf(v.Type()) {
		sub := v.Field(f.index)
		if value := valueOf(sub, spell); value != nil && !(f.def != "" && isDefault(sub, f.def)) {
			t = append(t, setting{f.name, value})
		}
	}
	return t
}

func isDefault(v reflect.Value, def string) bool {
	d := reflect.New(v.Type()).Elem()
	setDefault(d, def)
	return v.Equal(d)
}

// valueOf is a setting as it is written; nil: it is not.
func valueOf(v reflect.Value, spell func(readable) string) any {
	switch shapeOf(v.Type()) {
	case shapeText:
		if s := spell(v.Interface().(readable)); s != "" {
			return scalar{s, true}
		}
	case shapeString:
		if v.String() != "" {
			return scalar{v.String(), true}
		}
	case shapeBool, shapeInt, shapeNumber, shapeDuration:
		if !v.IsZero() {
			return scalar{formatNumber(v), shapeOf(v.Type()) == shapeDuration}
		}
	case shapeList:
		var list []scalar
		for i := range v.Len() {
			elem, ok := valueOf(v.Index(i), spell).(scalar)
			if !ok {
				elem = scalar{quoted: true}
			}
			list = append(list, elem)
		}
		if list != nil {
			return list
		}
	case shapeMap:
		return mapOf(v, spell)
	case shapeStruct:
		if t := structOf(v, spell); t != nil {
			return t
		}
	}
	return nil
}

// namesIn lists the keys of a map in their order.
func namesIn(v reflect.Value) []string {
	var names []string
	for _, name := range v.MapKeys() {
		names = append(names, name.String())
	}
	slices.Sort(names)
	return names
}

func mapOf(v reflect.Value, spell func(readable) string) any {
	var t tree
	for _, name := range namesIn(v) {
		value := valueOf(v.MapIndex(reflect.ValueOf(name)), spell)
		if value == nil {
			value = scalar{quoted: true}
		}
		t = append(t, setting{name, value})
	}
	if t == nil {
		return nil
	}
	return t
}

// form is how a part of a file is written.
type form struct {
	json bool   // every word in quotes, and what is in braces on lines of its own
	eol  string // how lines end
	step string // by how much each level is indented
}

func (f form) word(s string) string {
	if f.json {
		return quoted(s)
	}
	return scalarText(s)
}

// block writes settings on lines of their own.
func (f form) block(t tree, indent string) string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(indent + f.word(s.key) + ":")
		if sub, ok := s.value.(tree); ok {
			b.WriteString(f.eol + f.block(sub, indent+f.step))
			continue
		}
		b.WriteString(" " + f.inline(s.value, "") + f.eol)
	}
	return b.String()
}

// inline writes a value in braces, brackets or as a word. indent is that of the line
// that it stands in.
func (f form) inline(value any, indent string) string {
	switch v := value.(type) {
	case scalar:
		if v.quoted {
			return f.word(v.text)
		}
		return v.text
	case []scalar:
		words := make([]string, len(v))
		for i, s := range v {
			words[i] = quoted(s.text)
		}
		return "[" + strings.Join(words, ", ") + "]"
	case tree:
		var b strings.Builder
		for i, s := range v {
			if i > 0 {
				b.WriteString(",")
			}
			switch {
			case f.json:
				b.WriteString(f.eol + indent + f.step)
			case i > 0:
				b.WriteString(" ")
			}
			b.WriteString(f.word(s.key) + ": " + f.inline(s.value, indent+f.step))
		}
		if f.json && len(v) > 0 {
			b.WriteString(f.eol + indent)
		}
		return "{" + b.String() + "}"
	}
	return "null"
}
