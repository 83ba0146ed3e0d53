package configs

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Resolve merges layers into the effective configuration: base (the defaults and the user's
// file), workspace and overlay (the command line). A nil layer sets nothing. The package comment
// has the rules. The layers are not modified. The error is an *Error; the result is complete even
// then, and not nil.
func Resolve(base, workspace, overlay *Config) (*Config, error) {
	return resolve(nil, base, workspace, overlay)
}

// resolve is Resolve with a layer below all others: that of the editor.
func resolve(below, base, workspace, overlay *Config) (*Config, error) {
	c := &Config{where: map[string]Position{}, bad: map[string]bool{}, shared: map[string]bool{}}
	for _, layer := range []*Config{below, base, workspace, overlay} {
		if layer == nil {
			continue
		}
		c.lay(layer, layer == workspace)
		if layer == base {
			c.Source, c.ServersFile, c.Unusable = layer.Source, layer.ServersFile, maps.Clone(layer.Unusable)
			c.AgentsFile, c.UnusableAgents = layer.AgentsFile, maps.Clone(layer.UnusableAgents)
			c.disabled = layer.disabled
		}
	}
	c.leaveAlone()
	c.leaveLoopKeys(below, workspace)
	problems := checkValues(c)
	c.setDefaults(reflect.ValueOf(c).Elem(), "")
	more, warnings := checkWhole(c)
	c.Warnings = slices.Concat(c.noted, warnings)
	for i, w := range c.Warnings {
		if w.File == c.ServersFile && w.File != "" {
			c.Warnings[i] = serverFile().asShown(w)
		}
	}
	sortProblems(c.Warnings)
	return c, asError(append(problems, more...))
}

// lay merges a layer over the lower ones.
func (c *Config) lay(layer *Config, workspace bool) {
	m := merger{to: c, from: layer, workspace: workspace}
	m.merge(reflect.ValueOf(c).Elem(), reflect.ValueOf(layer).Elem(), "", field{workspace: true})
	maps.Copy(c.bad, layer.bad)
	maps.Copy(c.shared, layer.shared)
	c.noted = append(c.noted, layer.noted...)
}

// Defaults returns the configuration without any file.
func Defaults() *Config {
	c := &Config{}
	c.setDefaults(reflect.ValueOf(c).Elem(), "")
	return c
}

// merger merges one layer over the lower ones.
type merger struct {
	to, from  *Config
	workspace bool
	skip      map[string]bool // settings of from that are left out
}

// set reports whether the layer sets a setting.
func (m *merger) set(v reflect.Value, key string) bool {
	_, written := m.from.where[key]
	return written || !v.IsZero()
}

// merge merges src over dst. Maps are copied, so that no layer shares one with the result.
func (m *merger) merge(dst, src reflect.Value, key string, is field) {
	if m.skip[key] || key != "" && !m.set(src, key) {
		return
	}
	switch shapeOf(src.Type()) {
	case shapeStruct:
		if !m.workspace || is.workspace {
			m.place(key, true)
		}
		for _, f := range fieldsOf(src.Type()) {
			m.merge(dst.Field(f.index), src.Field(f.index), join(key, f.name), f)
		}
		return
	case shapeMap, shapeList, shapeString, shapeText, shapeBool, shapeInt, shapeNumber, shapeDuration:
	}
	if !m.permitted(src, key, is) || is.lowers && !lower(dst, src) {
		return
	}
	m.place(key, shapeOf(src.Type()) == shapeMap)
	switch shapeOf(src.Type()) {
	case shapeMap:
		m.mergeMap(dst, src, key, is)
	case shapeList:
		m.mergeList(dst, src, key, is)
	case shapeStruct, shapeString, shapeText, shapeBool, shapeInt, shapeNumber, shapeDuration:
		dst.Set(src)
	}
}

// lower reports whether a limit is lower than that of the layers below. 0 is none.
func lower(below, limit reflect.Value) bool {
	if limit.IsZero() || below.IsZero() {
		return below.IsZero()
	}
	if limit.CanInt() {
		return limit.Int() < below.Int()
	}
	return limit.Float() < below.Float()
}

// permitted keeps a workspace from setting the user's own settings.
func (m *merger) permitted(src reflect.Value, key string, is field) bool {
	if !m.workspace {
		return true
	}
	message := ""
	if !is.workspace {
		message = "is left out: a workspace cannot set this"
	} else if r, ok := src.Interface().(readable); ok && r.hasReference() {
		message = "is left out: a workspace's settings cannot contain references"
	}
	if message == "" {
		return true
	}
	m.to.noted = append(m.to.noted, Problem{Position: m.from.near(key), Key: key, Message: message})
	return false
}

func (m *merger) mergeMap(dst, src reflect.Value, key string, is field) {
	if dst.IsNil() {
		dst.Set(reflect.MakeMap(dst.Type()))
	}
	for _, name := range src.MapKeys() {
		sub := join(key, name.String())
		if m.skip[sub] {
			continue
		}
		elem := reflect.New(src.Type().Elem()).Elem()
		if below := dst.MapIndex(name); below.IsValid() {
			elem.Set(below)
		}
		if from := src.MapIndex(name); m.set(from, sub) {
			// The struct still shares its maps with the layer below.
			elem = m.detached(elem)
			m.merge(elem, from, sub, element(is))
		}
		dst.SetMapIndex(name, elem)
	}
}

// detached returns a copy of a struct with maps of its own, also in the structs within it.
func (m *merger) detached(v reflect.Value) reflect.Value {
	if shapeOf(v.Type()) != shapeStruct {
		return v
	}
	for _, f := range fieldsOf(v.Type()) {
		sub := v.Field(f.index)
		m.detached(sub)
		if sub.Kind() == reflect.Map && !sub.IsNil() {
			own := reflect.MakeMapWithSize(sub.Type(), sub.Len())
			for _, name := range sub.MapKeys() {
				own.SetMapIndex(name, sub.MapIndex(name))
			}
			sub.Set(own)
		}
	}
	return v
}

// mergeList replaces a list. A workspace's list is appended to the user's, and the user's to an
// editor's if a workspace could add to it: such a list only restricts.
func (m *merger) mergeList(dst, src reflect.Value, key string, is field) {
	first := 0
	if m.workspace || is.workspace && m.to.FromEditor(key) {
		first = dst.Len()
	} else {
		for k := range m.to.where {
			if strings.HasPrefix(k, key+"[") {
				delete(m.to.where, k)
			}
		}
	}
	own := reflect.MakeSlice(dst.Type(), 0, first+src.Len())
	own = reflect.AppendSlice(own, dst.Slice(0, first))
	dst.Set(reflect.AppendSlice(own, src))
	for k, at := range m.from.where {
		for i := range src.Len() {
			if rest, ok := strings.CutPrefix(k, index(key, i)); ok {
				m.to.where[index(key, first+i)+rest] = at
			}
		}
	}
}

// place records the position of a setting that is now effective. A section or a mapping of
// several layers keeps the known position.
func (m *merger) place(key string, merges bool) {
	at, ok := m.from.where[key]
	switch {
	case ok:
		m.to.where[key] = at
	case merges:
	case m.from.where == nil: // a layer that is not a file
		m.to.where[key] = Position{File: m.from.Source}
	default:
		delete(m.to.where, key)
	}
}

// setDefaults fills in what no layer set. A written 0 or false stays.
func (c *Config) setDefaults(v reflect.Value, key string) {
	switch shapeOf(v.Type()) {
	case shapeStruct:
		for _, f := range fieldsOf(v.Type()) {
			sub, at := v.Field(f.index), join(key, f.name)
			c.setDefaults(sub, at)
			if _, written := c.where[at]; f.def != "" && sub.IsZero() && !written && applies(v, f) {
				setDefault(sub, f.def)
			}
		}
	case shapeMap:
		for _, name := range v.MapKeys() {
			elem := reflect.New(v.Type().Elem()).Elem()
			elem.Set(v.MapIndex(name))
			c.setDefaults(elem, join(key, name.String()))
			v.SetMapIndex(name, elem)
		}
	case shapeList:
		for i := range v.Len() {
			c.setDefaults(v.Index(i), index(key, i))
		}
	case shapeString, shapeText, shapeBool, shapeInt, shapeNumber, shapeDuration:
	}
}

func setDefault(v reflect.Value, s string) {
	switch shapeOf(v.Type()) {
	case shapeString:
		v.SetString(s)
	case shapeInt, shapeDuration:
		v.SetInt(number(v, s))
	case shapeBool:
		v.SetBool(s == "true")
	case shapeText, shapeNumber, shapeStruct, shapeMap, shapeList:
	}
}
