package configs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// tree is a mapping to be written: settings in order.
type tree []setting

type setting struct {
	key   string
	value any // scalar, []scalar or tree
}

// scalar is one value. A bare one (a number, true, false) has no quotes.
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

// ShowServers writes servers in the form of mcp.json, with secrets hidden.
func ShowServers(servers map[string]MCPServer) string {
	var all tree
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		all = append(all, setting{name, asShared(servers[name], func(t readable) string { return t.(fmt.Stringer).String() })})
	}
	return form{eol: "\n", step: "  "}.value(tree{{sharedServers, all}}, "", true) + "\n"
}

// treeOf lists the members of a server's entry, without defaults.
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

// valueOf returns a setting in its written form; nil: it is not written.
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

// namesIn lists the keys of a map, sorted.
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
