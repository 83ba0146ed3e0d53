package configs

import (
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// field is a setting according to its struct tags.
type field struct {
	index     int
	name      string
	doc       string
	def       string // default, in the form of a file
	min, max  string
	enum      []string
	other     string              // for an enum: where a value of another kind belongs
	aka       []string            // other words people try
	names     string              // for a mapping: the kind of its keys (name, header, variable)
	pattern   func(string) string // returns the fault of a pattern; nil: the field is not a pattern
	emptyOK   bool
	workspace bool   // a workspace's layer may set it
	lowers    bool   // a limit (0: none): of several layers' the lowest holds, so that the user's alone can raise it
	line      bool   // a list that can also be one line of words
	needs     string // another setting of the same mapping, without which this one means nothing
	without   string // another setting of the same mapping, with which this one means nothing
}

// described caches the results of fieldsOf: types do not change.
var described sync.Map // from reflect.Type to []field

// fieldsOf returns the settings of a struct type, in order. The result must not be modified.
func fieldsOf(t reflect.Type) []field {
	if fields, ok := described.Load(t); ok {
		return fields.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		f := field{index: i}
		for key, value := range tags(t.Field(i).Tag) {
			f.tag(key, value)
		}
		if f.name != "" {
			fields = append(fields, f)
		}
	}
	described.Store(t, fields)
	return fields
}

// tag takes one tag of a field.
func (f *field) tag(key, value string) {
	switch key {
	case "yaml":
		f.name = value
	case "doc":
		f.doc = value
	case "default":
		f.def = value
	case "min":
		f.min = value
	case "max":
		f.max = value
	case "enum":
		f.enum = enumOf(value)
	case "other":
		f.other = value
	case "aka":
		f.aka = list(value)
	case "names":
		f.names = value
	case "pattern":
		f.pattern = patterns[value]
	case "empty":
		f.emptyOK = value != ""
	case "workspace":
		f.workspace = value != ""
	case "lowers":
		f.lowers = value != ""
	case "line":
		f.line = value != ""
	case "needs":
		f.needs = value
	case "without":
		f.without = value
	}
}

// tags takes a field's tags apart, in the form of reflect.StructTag. Its Get would read them from
// the start for each of the keys, and there are a hundred fields to be read before the first answer.
func tags(tag reflect.StructTag) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for rest := string(tag); ; {
			key, after, ok := strings.Cut(strings.TrimLeft(rest, " "), ":")
			quoted, err := strconv.QuotedPrefix(after)
			if !ok || err != nil {
				return
			}
			value := quoted[1 : len(quoted)-1]
			if strings.Contains(value, `\`) {
				value, _ = strconv.Unquote(quoted) //nolint:errcheck // QuotedPrefix has checked it
			}
			if !yield(key, value) {
				return
			}
			rest = after[len(quoted):]
		}
	}
}

// enumOf reads the values of a tag "enum". KINDS means the kinds of providers.
func enumOf(tag string) []string {
	if tag == "KINDS" {
		return Kinds()
	}
	return list(tag)
}

// applies reports whether a setting of a struct means something beside the others that are set.
func applies(v reflect.Value, is field) bool {
	set := func(names string) bool {
		return slices.ContainsFunc(fieldsOf(v.Type()), func(f field) bool { return slices.Contains(list(names), f.name) && !v.Field(f.index).IsZero() })
	}
	return (is.needs == "" || set(is.needs)) && (is.without == "" || !set(is.without))
}

// choices returns the keys of which a struct takes exactly one (exactly), or at least one
// (atLeast).
func choices(t reflect.Type) (exactly, atLeast []string) {
	if f, ok := t.FieldByName("_"); ok {
		return list(f.Tag.Get("oneof")), list(f.Tag.Get("anyof"))
	}
	return nil, nil
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// shape is the form of a setting's type in a file.
type shape int

const (
	shapeString   shape = iota // string
	shapeText                  // Value, Secret, URL
	shapeBool                  // bool
	shapeInt                   // int
	shapeNumber                // float64, never negative
	shapeDuration              // time.Duration
	shapeStruct                // a mapping with known keys
	shapeMap                   // a mapping with names of the user's choice
	shapeList
)

func shapeOf(t reflect.Type) shape {
	switch {
	case t.Implements(reflect.TypeFor[readable]()):
		return shapeText
	case t == reflect.TypeFor[time.Duration]():
		return shapeDuration
	}
	switch t.Kind() {
	case reflect.Bool:
		return shapeBool
	case reflect.Int:
		return shapeInt
	case reflect.Float64:
		return shapeNumber
	case reflect.Struct:
		return shapeStruct
	case reflect.Map:
		return shapeMap
	case reflect.Slice:
		return shapeList
	}
	return shapeString
}

// visit calls f for a setting and for all below it, maps in random order.
func visit(
	v reflect.Value,
	key string,
	is field,
	f func(key string, is field, v reflect.Value),
) {
	f(key, is, v)
	switch shapeOf(v.Type()) {
	case shapeStruct:
		for _, sub := range fieldsOf(v.Type()) {
			visit(v.Field(sub.index), join(key, sub.name), sub, f)
		}
	case shapeMap:
		for _, name := range v.MapKeys() {
			visit(v.MapIndex(name), join(key, name.String()), element(is), f)
		}
	case shapeList:
		for i := range v.Len() {
			visit(v.Index(i), index(key, i), element(is), f)
		}
	case shapeString, shapeText, shapeBool, shapeInt, shapeNumber, shapeDuration:
	}
}

// element describes an element of a mapping or a list.
func element(of field) field {
	return field{emptyOK: true, workspace: of.workspace, enum: of.enum, pattern: of.pattern}
}
