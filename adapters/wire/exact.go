package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode"

	"github.com/creachadair/jrpc2"

	"dragoman/core/jsonscan"
)

// Unmarshal decodes raw into v, a pointer, as encoding/json does, but compares names of
// members exactly: one that differs from a field's name only in case is unknown, and so
// ignored, and a duplicate field is an error. In types with an UnmarshalJSON of their own it
// checks the fields of the type itself and of its variants (fields tagged "-"). Errors name the
// member and the expected type.
func Unmarshal(raw []byte, v any) error {
	if !jsonscan.Valid(raw) {
		return errors.New("not valid JSON")
	}
	if t := reflect.TypeOf(v); t != nil {
		return decodeAs(knownShape(t), raw, v)
	}
	return errors.New("nothing to decode into")
}

// decoder returns a function that decodes parameters, which are JSON or absent, into a
// P. Its error is a *jrpc2.Error with jrpc2.InvalidParams.
func decoder[P any]() func(params []byte) (P, error) {
	return func(params []byte) (p P, err error) {
		if len(params) == 0 || string(params) == "null" {
			return p, nil
		}
		// The shapes of methods that nobody calls are not built.
		if err := decodeAs(knownShape(reflect.TypeFor[P]()), params, &p); err != nil {
			return p, jrpc2.Errorf(jrpc2.InvalidParams, "invalid params: %v", err)
		}
		return p, nil
	}
}

func decodeAs(s *shape, raw []byte, v any) error {
	raw = jsonscan.Trim(raw)
	folds, err := s.look(raw, false)
	if err != nil {
		return err
	}
	if folds {
		raw = bytes.Clone(raw)
		if _, err := s.look(raw, true); err != nil {
			return err
		}
	}
	return explained(json.Unmarshal(raw, v))
}

// shape has the names of members in a Go type's JSON. A nil shape allows any names.
type shape struct {
	fields map[string]field // of a struct
	elem   *shape           // of the elements of a slice, array or map
}

type field struct {
	index int
	shape *shape
}

var (
	rawType     = reflect.TypeFor[json.RawMessage]()
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
)

// shapes are those that were built, by type: there are as many as the program has types
// to decode into.
var shapes sync.Map

// knownShape is the shape of t, built once.
func knownShape(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := shapeOf(t, map[reflect.Type]*shape{})
	shapes.Store(t, s)
	return s
}

// shapeOf builds the shape of t. known holds the shapes of the structs around it, for
// types that contain themselves.
func shapeOf(t reflect.Type, known map[reflect.Type]*shape) *shape {
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem(), known)
	case reflect.Slice, reflect.Array, reflect.Map:
		if t == rawType {
			return nil
		}
		if e := shapeOf(t.Elem(), known); e != nil {
			return &shape{elem: e}
		}
	case reflect.Struct:
		if s := known[t]; s != nil {
			return s
		}
		s := &shape{fields: map[string]field{}}
		known[t] = s
		s.addFields(t, known)
		return s
	}
	return nil
}

func (s *shape) addFields(t reflect.Type, known map[reflect.Type]*shape) {
	union := reflect.PointerTo(t).Implements(unmarshaler)
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-" && union, f.Anonymous && name == "":
			// A variant of a union, or an embedded struct: its members are in the same object.
			if inner := shapeOf(f.Type, known); inner != nil {
				for n, g := range inner.fields {
					s.add(n, g.shape)
				}
			}
		case tag == "-", !f.IsExported():
		case name != "":
			s.add(name, shapeOf(f.Type, known))
		default:
			s.add(f.Name, shapeOf(f.Type, known))
		}
	}
}

func (s *shape) add(name string, inner *shape) {
	if old, ok := s.fields[name]; ok {
		if old.shape != inner {
			s.fields[name] = field{index: old.index} // variants disagree: nothing is known
		}
		return
	}
	s.fields[name] = field{index: len(s.fields), shape: inner}
}

// look reports whether raw, which is JSON, has names that differ from a field's only in case. With
// blank it overwrites them, so that they match no field.
func (s *shape) look(raw []byte, blank bool) (found bool, err error) {
	if s == nil || len(raw) == 0 {
		return false, nil
	}
	switch {
	case raw[0] == '[' && s.fields == nil:
		for e := range elements(raw) {
			if e == nil {
				return false, errDeep
			}
			f, err := s.elem.look(e, blank)
			if err != nil {
				return false, err
			}
			found = found || f
		}
	case raw[0] == '{' && s.fields == nil:
		for _, val := range members(raw) {
			if val == nil {
				return false, errDeep
			}
			f, err := s.elem.look(val, blank)
			if err != nil {
				return false, err
			}
			found = found || f
		}
	case raw[0] == '{':
		return s.lookStruct(raw, blank)
	}
	return found, nil
}

func (s *shape) lookStruct(raw []byte, blank bool) (found bool, err error) {
	var seen [4]uint64 // by field.index; a field beyond is not checked for standing there twice
	for key, val := range members(raw) {
		if val == nil {
			return false, errDeep
		}
		name := jsonscan.Unescaped(key)
		f, ok := s.fields[string(name)]
		if !ok {
			if s.folds(name) {
				if found = true; blank {
					copy(key, bytes.Repeat([]byte{'#'}, len(key)))
				}
			}
			continue
		}
		if i := f.index; i < 64*len(seen) {
			if seen[i/64]&(1<<(i%64)) != 0 {
				return false, fmt.Errorf("duplicate member %s", name)
			}
			seen[i/64] |= 1 << (i % 64)
		}
		inner, err := f.shape.look(val, blank)
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		found = found || inner
	}
	return found, nil
}

var errDeep = errors.New("nesting is too deep")

// folds reports whether encoding/json would take name for one of the fields.
func (s *shape) folds(name []byte) bool {
	for n := range s.fields {
		if strings.EqualFold(n, string(name)) {
			return true
		}
	}
	return false
}

// explained turns a decoding error into a sentence about the JSON.
func explained(err error) error {
	t, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		if err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "json: "))
		}
		return nil
	}
	where := ""
	if t.Field != "" {
		where = t.Field + ": "
	}
	return fmt.Errorf("%sexpected %s, got %s", where, jsonKind(t.Type), t.Value)
}

// jsonKind names what JSON a Go type is read from.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("an integer of %d bits", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("an integer of %d bits, not negative", t.Bits())
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a base64 string"
		}
		return "an array"
	case reflect.Array:
		return "an array"
	case reflect.Pointer:
		return jsonKind(t.Elem())
	}
	return "another kind of value"
}

// ambiguous refuses parameters in which two names differ only in case.
func ambiguous(params []byte) error {
	if len(params) == 0 || params[0] != '{' {
		return nil
	}
	var few [16][]byte
	names := few[:0]
	var many map[string]bool
	for key, val := range members(params) {
		if val == nil {
			return jrpc2.Errorf(jrpc2.InvalidParams, "invalid params: %v", errDeep)
		}
		name := jsonscan.Unescaped(key)
		twice := false
		if many == nil && len(names) == len(few) {
			many = map[string]bool{}
			for _, n := range names {
				many[folded(n)] = true
			}
		}
		if many != nil {
			f := folded(name)
			twice, many[f] = many[f], true
		} else {
			for _, n := range names {
				twice = twice || bytes.EqualFold(n, name)
			}
			names = append(names, name)
		}
		if twice {
			return jrpc2.Errorf(
				jrpc2.InvalidParams,
				"invalid params: duplicate member %.60q (compared without case)",
				name,
			)
		}
	}
	return nil
}

// folded is the same for names that differ only in case.
func folded(name []byte) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, string(name))
}
