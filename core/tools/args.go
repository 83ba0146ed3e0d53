package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// args reads the arguments of a call strictly: names are compared exactly, duplicate
// names are an error, and so are names that no reader has asked for. Every error
// contains the argument's name, so that the model can correct it.
//
// Readers keep the first error; done returns it.
type args struct {
	fields map[string]json.RawMessage
	order  []string // in the order of the call
	known  []string // in the order of the readers
	err    error
}

func parseArgs(raw json.RawMessage) (*args, error) {
	a := &args{fields: map[string]json.RawMessage{}}
	if len(bytes.TrimSpace(raw)) == 0 {
		return a, nil
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("the arguments are not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, errors.New("the arguments must be a JSON object")
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("the arguments are not valid JSON: %v", err)
		}
		name, ok := tok.(string)
		if !ok {
			return nil, errors.New("the arguments must be a JSON object")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("argument %q is not valid JSON: %v", name, err)
		}
		if _, dup := a.fields[name]; dup {
			return nil, fmt.Errorf("argument %q was given twice", name)
		}
		a.fields[name] = value
		a.order = append(a.order, name)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something behind the arguments' JSON object")
	}
	return a, nil
}

// done returns the first error, which may be an unknown argument.
func (a *args) done() error {
	if a.err != nil {
		return a.err
	}
	for _, name := range a.order {
		if !slices.Contains(a.known, name) {
			return fmt.Errorf("unknown argument %q; the arguments are %s", name, strings.Join(a.known, ", "))
		}
	}
	return nil
}

func (a *args) fail(format string, v ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, v...)
	}
}

// take records that the tool has an argument of this name, and returns its value.
func (a *args) take(name string, required bool) (json.RawMessage, bool) {
	a.known = append(a.known, name)
	v, ok := a.fields[name]
	if !ok && required {
		a.fail("argument %q is missing", name)
	}
	return v, ok
}

// given reports whether the call has the argument.
func (a *args) given(name string) bool { _, ok := a.fields[name]; return ok }

// text reads a required string.
func (a *args) text(name string) string {
	v, ok := a.take(name, true)
	if !ok {
		return ""
	}
	return a.asText(name, v)
}

// optText reads an optional string.
func (a *args) optText(name, def string) string {
	v, ok := a.take(name, false)
	if !ok {
		return def
	}
	return a.asText(name, v)
}

func (a *args) asText(name string, v json.RawMessage) string {
	var s string
	if typeOf(v) != "a string" || json.Unmarshal(v, &s) != nil {
		a.fail("argument %q must be a string, not %s", name, typeOf(v))
	}
	return s
}

// integer reads a whole number of at least low; high 0: no upper bound.
func (a *args) integer(name string, def, low, high int) int {
	v, ok := a.take(name, false)
	if !ok {
		return def
	}
	f, ok := a.asNumber(name, "a whole number", v)
	if !ok {
		return def
	}
	high = cmp.Or(high, math.MaxInt32)
	switch {
	case f != math.Trunc(f):
		a.fail("argument %q must be a whole number, not %s", name, v)
	case f < float64(low):
		a.fail("argument %q must be at least %d", name, low)
	case f > float64(high):
		a.fail("argument %q must be at most %d", name, high)
	default:
		return int(f)
	}
	return def
}

// number reads a number above 0 and at most high.
func (a *args) number(name string, def, high float64) float64 {
	v, ok := a.take(name, false)
	if !ok {
		return def
	}
	f, ok := a.asNumber(name, "a number", v)
	switch {
	case !ok:
	case f <= 0:
		a.fail("argument %q must be above 0", name)
	case f > high:
		a.fail("argument %q must be at most %v", name, high)
	default:
		return f
	}
	return def
}

func (a *args) asNumber(name, want string, v json.RawMessage) (float64, bool) {
	var f float64
	if typeOf(v) != "a number" || json.Unmarshal(v, &f) != nil {
		a.fail("argument %q must be %s, not %s", name, want, typeOf(v))
		return 0, false
	}
	return f, true
}

func (a *args) boolean(name string, def bool) bool {
	v, ok := a.take(name, false)
	if !ok {
		return def
	}
	var b bool
	if typeOf(v) != "a boolean" || json.Unmarshal(v, &b) != nil {
		a.fail("argument %q must be a boolean, not %s", name, typeOf(v))
	}
	return b
}

// objects reads a list of objects, each as arguments of its own. It calls read for
// each; a name that read does not ask for is an error with the entry's number. An entry that is a string is taken
// for an object with it under the name as; "": it is an error.
func (a *args) objects(name string, required bool, most int, as string, read func(*args)) {
	v, ok := a.take(name, required)
	if !ok {
		return
	}
	var list []json.RawMessage
	if typeOf(v) != "a list" || json.Unmarshal(v, &list) != nil {
		a.fail("argument %q must be a list, not %s", name, typeOf(v))
		return
	}
	if len(list) > most {
		a.fail("argument %q has %d entries; at most %d are possible", name, len(list), most)
		return
	}
	for i, raw := range list {
		if as != "" && typeOf(raw) == "a string" {
			raw = json.RawMessage(`{"` + as + `":` + string(raw) + `}`)
		}
		if typeOf(raw) != "an object" {
			a.fail("argument %q: entry %d must be an object, not %s", name, i+1, typeOf(raw))
			return
		}
		sub, err := parseArgs(raw)
		if err == nil {
			read(sub)
			err = sub.done()
		}
		if err != nil {
			a.fail("argument %q: entry %d: %w", name, i+1, err)
			return
		}
	}
}

// typeOf returns the name of a JSON value's type.
func typeOf(v json.RawMessage) string {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return "nothing"
	}
	switch v[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
