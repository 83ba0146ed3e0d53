package configs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"dragoman/configs/jsonc"
)

// ShowServers writes servers in the form of mcp.json, with secrets hidden.
func ShowServers(servers map[string]MCPServer) string { return show(serverFile(), servers) }

// ShowAgents writes agents in the form of agents.json, with secrets hidden.
func ShowAgents(agents map[string]Agent) string { return show(agentFile(), agents) }

func show[T any](f *listing[T], entries map[string]T) string {
	var all jsonc.Tree
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		shown := f.spell(entries[name], func(t readable) string { return t.(fmt.Stringer).String() })
		all = append(all, jsonc.Setting{Key: name, Value: shown})
	}
	return jsonc.Tree{{Key: f.member, Value: all}}.String()
}

// treeOf lists the members of an entry, without defaults.
func treeOf(entry any) jsonc.Tree { return structOf(reflect.ValueOf(entry), readable.written) }

func structOf(v reflect.Value, spell func(readable) string) jsonc.Tree {
	var t jsonc.Tree
	for _, f := range fieldsOf(v.Type()) {
		sub := v.Field(f.index)
		if value := valueOf(sub, spell); value != nil && !(f.def != "" && isDefault(sub, f.def)) {
			t = append(t, jsonc.Setting{Key: f.name, Value: value})
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
			return jsonc.Scalar{Text: s, Quoted: true}
		}
	case shapeString:
		if v.String() != "" {
			return jsonc.Scalar{Text: v.String(), Quoted: true}
		}
	case shapeBool, shapeInt, shapeNumber, shapeDuration:
		if !v.IsZero() {
			return jsonc.Scalar{Text: formatNumber(v), Quoted: shapeOf(v.Type()) == shapeDuration}
		}
	case shapeList:
		var list []jsonc.Scalar
		for i := range v.Len() {
			elem, ok := valueOf(v.Index(i), spell).(jsonc.Scalar)
			if !ok {
				elem = jsonc.Scalar{Quoted: true}
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
	var t jsonc.Tree
	for _, name := range namesIn(v) {
		value := valueOf(v.MapIndex(reflect.ValueOf(name)), spell)
		if value == nil {
			value = jsonc.Scalar{Quoted: true}
		}
		t = append(t, jsonc.Setting{Key: name, Value: value})
	}
	if t == nil {
		return nil
	}
	return t
}
