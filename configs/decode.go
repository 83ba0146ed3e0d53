package configs

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// decoder fills a layer from a syntax tree. Our types determine its depth, not the document.
type decoder struct {
	file, dir string
	own       bool
	shared    bool // texts may hold the references that MCP programs share
	where     map[string]Position
	bad       map[string]bool
	anchors   map[string]ast.Node
	left      int // number of values that may still be read
	problems  []Problem
}

func (d *decoder) document(body ast.Node, c *Config) {
	defer func() {
		if r := recover(); r != nil { // for a tree that the library should not have built
			d.problem(Position{File: d.file}, "", "cannot be read as YAML or JSON")
		}
	}()
	if body == nil {
		return
	}
	d.anchors = map[string]ast.Node{}
	ast.Walk(anchorVisitor{d}, body)
	d.value(body, reflect.ValueOf(c).Elem(), "", field{})
}

// anchorVisitor collects the anchors of a document.
type anchorVisitor struct{ d *decoder }

func (v anchorVisitor) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok && a.Name != nil {
		name := a.Name.GetToken().Value
		if _, twice := v.d.anchors[name]; twice {
			v.d.fail(a, "", "anchor &"+cut(name)+" is defined twice")
		}
		v.d.anchors[name] = a.Value
	}
	return v
}

func (d *decoder) fail(at ast.Node, key, message string) {
	d.bad[key] = true
	d.problem(place(d.file, start(at)), key, message)
}

func (d *decoder) problem(at Position, key, message string) {
	d.problems = append(d.problems, Problem{Position: at, Key: key, Message: message})
}

// start returns the first token of a value; the library often returns a later one.
func start(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return start(n.Values[0])
		}
	case *ast.MappingValueNode:
		if n.Key != nil {
			return n.Key.GetToken()
		}
	case *ast.LiteralNode:
		return n.Start
	}
	return n.GetToken()
}

// plain follows anchors, aliases and tags to the value itself. It returns nil
// after it reported a problem.
func (d *decoder) plain(n ast.Node, key string) ast.Node {
	for range 100 {
		switch v := n.(type) {
		case nil:
			return nil
		case *ast.AnchorNode:
			n = v.Value
		case *ast.TagNode:
			if tag := v.Start.Value; tag != "!!str" && tag != "!!map" && tag != "!!seq" && tag != "!!int" &&
				tag != "!!bool" {
				d.fail(v, key, "tag "+quote(tag)+" means nothing here")
				return nil
			}
			n = v.Value
			switch n.(type) {
			case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
				if v.Start.Value == "!!str" {
					n = ast.String(n.GetToken())
				}
			}
		case *ast.AliasNode:
			name := v.Value.GetToken().Value
			target, ok := d.anchors[name]
			if !ok {
				d.fail(v, key, "no anchor &"+cut(name)+" is defined")
				return nil
			}
			n = target
		default:
			return n
		}
	}
	d.fail(n, key, "an alias refers to itself")
	return nil
}

// spend counts a value. It returns false if there have been too many.
func (d *decoder) spend(at ast.Node) bool {
	if d.left--; d.left == -1 {
		d.fail(at, "", fmt.Sprintf("aliases make more than %d values of this file", maxValues))
	}
	return d.left >= 0
}

// value decodes a node into v.
func (d *decoder) value(raw ast.Node, v reflect.Value, key string, is field) {
	if raw == nil || !d.spend(raw) {
		return
	}
	n := d.plain(raw, key)
	if n == nil {
		return
	}
	if _, known := d.where[key]; !known && key != "" {
		d.where[key] = place(d.file, start(n))
	}
	switch shapeOf(v.Type()) {
	case shapeStruct:
		d.structure(n, v, key)
	case shapeMap:
		d.mapping(n, v, key)
	case shapeList:
		d.sequence(n, v, key, is)
	case shapeString, shapeText, shapeBool, shapeInt, shapeNumber, shapeDuration:
		if n.Type() == ast.NullType {
			d.fail(n, key, "has no value; write one or remove the key")
			return
		}
		d.scalar(n, v, key, is)
	}
}

func (d *decoder) structure(n ast.Node, v reflect.Value, key string) {
	fields := fieldsOf(v.Type())
	for _, e := range d.entries(n, key) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == e.name })
		if i < 0 {
			d.problem(e.at, join(key, e.name), unknownKey(e.name, v.Type()))
			continue
		}
		sub := join(key, e.name)
		if _, scalar := e.value.(ast.ScalarNode); !scalar {
			d.where[sub] = e.at
		}
		d.value(e.value, v.Field(fields[i].index), sub, fields[i])
	}
}

func unknownKey(name string, of reflect.Type) string {
	fields := fieldsOf(of)
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		if slices.ContainsFunc(f.aka, func(s string) bool { return fold(s) == fold(name) }) {
			return "unknown key; did you mean " + quote(f.name) + "?"
		}
		if in := of.Field(f.index).Type; shapeOf(in) == shapeStruct && slices.ContainsFunc(fieldsOf(in), func(f field) bool { return f.name == name }) {
			return "unknown key; did you mean " + f.name + ": {" + name + ": …}?"
		}
		if !strings.HasPrefix(f.name, "$") {
			names = append(names, f.name)
		}
	}
	if more := DidYouMean(name, names); more != "" {
		return "unknown key" + more
	}
	return "unknown key; here can be " + oneOf(names)
}

func (d *decoder) mapping(n ast.Node, v reflect.Value, key string) {
	entries := d.entries(n, key)
	if len(entries) == 0 {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(entries)))
	for _, e := range entries {
		sub := join(key, e.name)
		d.where[sub] = e.at
		elem := reflect.New(v.Type().Elem()).Elem()
		if shapeOf(elem.Type()) != shapeStruct {
			delete(d.where, sub) // the position of a scalar is that of its value
		}
		d.value(e.value, elem, sub, field{})
		v.SetMapIndex(reflect.ValueOf(e.name), elem)
	}
}

func (d *decoder) sequence(n ast.Node, v reflect.Value, key string, is field) {
	if line, ok := stringOf(n); ok && is.line {
		d.line(n, v, key, line)
		return
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		if n.Type() != ast.NullType {
			d.fail(n, key, "must be a list, got "+kindOf(n))
		}
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	for i, elem := range seq.Values {
		d.value(elem, v.Index(i), index(key, i), field{})
	}
}

// line reads a list from one line of words.
func (d *decoder) line(n ast.Node, v reflect.Value, key, line string) {
	all, closed := splitWords(line)
	if !closed {
		d.fail(n, key, "a quote is not closed")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(all), len(all)))
	for i, word := range all {
		d.setText(n, v.Index(i), index(key, i), word)
	}
}

func index(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }

// entry is a key of a mapping, with its value.
type entry struct {
	name  string
	at    Position
	value ast.Node
}

// entries returns the entries of a mapping, merged mappings (<<) after its own keys. A
// duplicate key is a problem.
func (d *decoder) entries(n ast.Node, key string) []entry {
	var own, merged []entry
	have := map[string]Position{}
	for _, pair := range d.pairs(n, key) {
		if !d.spend(pair) {
			return nil
		}
		if pair.Key == nil {
			continue
		}
		if pair.Key.IsMergeKey() {
			merged = append(merged, d.merged(pair.Value, key)...)
			continue
		}
		name, ok := keyName(pair.Key)
		if !ok {
			d.fail(pair, key, "a key must be a plain word")
			continue
		}
		e := entry{name: name, at: place(d.file, start(pair)), value: pair.Value}
		if first, twice := have[name]; twice {
			d.problem(e.at, join(key, name), "is written twice, first in line "+strconv.Itoa(first.Line))
			continue
		}
		have[name] = e.at
		own = append(own, e)
	}
	for _, e := range merged {
		if _, hidden := have[e.name]; !hidden {
			have[e.name] = e.at
			own = append(own, e)
		}
	}
	return own
}

// merged returns the entries that a merge key adds: those of a mapping, or of a list of mappings,
// of which the first takes precedence.
func (d *decoder) merged(raw ast.Node, key string) []entry {
	n := d.plain(raw, key)
	if n == nil {
		return nil
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return d.entries(n, key)
	}
	var all []entry
	for _, elem := range seq.Values {
		if e := d.plain(elem, key); e != nil && d.spend(e) {
			all = append(all, d.entries(e, key)...)
		}
	}
	return all
}

func (d *decoder) pairs(n ast.Node, key string) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil
	}
	d.fail(n, key, "must be a mapping (key: value), got "+kindOf(n))
	return nil
}

func keyName(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.MappingKeyNode:
		if n.Value == nil {
			return "", false
		}
		return keyName(n.Value)
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// scalar decodes a single value. A message shows the value unless it may be a
// secret.
func (d *decoder) scalar(n ast.Node, v reflect.Value, key string, is field) {
	s, isString := stringOf(n)
	shown := kindOf(n)
	if scalar, ok := n.(ast.ScalarNode); ok && shapeOf(v.Type()) != shapeText {
		shown = quote(scalar.GetToken().Value)
	}
	switch shapeOf(v.Type()) {
	case shapeString, shapeText:
		if literal, ok := literalOf(n); ok && v.Type() == reflect.TypeFor[Option]() {
			s, isString = literal, true
		}
		if !isString {
			message := "must be a string, got " + kindOf(n)
			if _, scalar := n.(ast.ScalarNode); scalar {
				message += "; put it in quotes"
			}
			d.fail(n, key, message)
			return
		}
		d.setText(n, v, key, s)
	case shapeBool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			d.fail(n, key, "must be true or false, got "+shown)
			return
		}
		v.SetBool(b.Value)
	case shapeInt:
		i, ok := integer(n)
		if !ok {
			d.fail(n, key, "must be a whole number, got "+shown)
			return
		}
		v.SetInt(i)
	case shapeNumber:
		f, ok := n.(ast.ScalarNode).GetValue().(float64)
		if i, whole := integer(n); whole {
			f, ok = float64(i), true
		}
		if !ok || f < 0 || f > math.MaxInt32 || f != f {
			d.fail(n, key, "must be a number from 0 on, got "+shown)
			return
		}
		v.SetFloat(f)
	case shapeDuration:
		if i, ok := integer(n); ok && i == 0 {
			s, isString = "0", true
		}
		duration, err := ParseDuration(s)
		if !isString || err != nil {
			d.fail(n, key, "must be a duration such as 30s, 10m or 1h30m, got "+shown)
			return
		}
		v.SetInt(int64(duration))
	case shapeStruct, shapeMap, shapeList:
	}
}

func (d *decoder) setText(n ast.Node, v reflect.Value, key, s string) {
	at := place(d.file, start(n))
	if t, ok := v.Addr().Interface().(interface{ set(string, *origin) }); ok {
		t.set(s, &origin{Position: at, key: key, dir: d.dir, own: d.own, shared: d.shared})
		return
	}
	v.SetString(s)
}

func stringOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		if n.Value == nil {
			return "", true
		}
		return n.Value.Value, true
	}
	return "", false
}

// literalOf returns the text of a boolean or a number.
func literalOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.BoolNode:
		return strconv.FormatBool(n.Value), true
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func integer(n ast.Node) (int64, bool) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	switch v := i.Value.(type) {
	case int64:
		return v, v == int64(int(v))
	case uint64:
		return int64(v), v <= uint64(^uint(0)>>1)
	}
	return 0, false
}

// kindOf names a node for a message.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a string"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "nothing"
	}
	return "something else"
}
