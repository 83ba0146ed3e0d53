package forms

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/core/jsonscan"
)

// MaxFields limits the fields of one form.
const MaxFields = 20

// Field is a field of a form that somebody else has written, as an MCP server does: a
// property of the schema of its answer. Its texts are that server's own.
type Field struct {
	Name     string // of the property, as it was written
	Required bool

	kind               string // "boolean", "integer", "number", "array"; anything else is text
	title, description string
	choices            []choice        // the possible answers; nil: anything that fits
	preset             json.RawMessage // the default; nil: there is none
	least, most        *float64        // of a number
	shortest           int             // of a text, in characters
	longest            *int
	fewest             int // of an array, in elements
	many               *int
}

// choice is a value that can be chosen, its label, and more about it.
type choice struct{ value, title, description string }

// Fields returns the fields that the schema of a form's answer has, in its order. A
// schema that is absent or null has none.
func Fields(schema json.RawMessage) ([]Field, error) {
	var properties json.RawMessage
	var required []string
	err := decode(schema, targets{"properties": &properties, "required": &required})
	if err != nil || absent(properties) {
		return nil, err
	}
	var list []Field
	walk := jsonscan.MembersOf(properties, jsonscan.AnyDepth)
	for walk.Next() {
		name := string(jsonscan.Unescaped(walk.Key))
		f, err := fieldOf(walk.Val)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		if slices.ContainsFunc(list, func(f Field) bool { return f.Name == name }) {
			return nil, fmt.Errorf("duplicate member %q", name)
		}
		f.Name, f.Required = name, slices.Contains(required, name)
		if list = append(list, f); len(list) > MaxFields {
			return nil, fmt.Errorf("it has more than %d fields", MaxFields)
		}
	}
	if walk.Bad {
		return nil, errors.New("its properties are no object")
	}
	return list, nil
}

// fieldOf reads the schema of a property.
func fieldOf(schema []byte) (f Field, err error) {
	var items elements
	var enum, enumNames []string
	var oneOf []choice
	err = decode(schema, targets{
		"type": &f.kind, "title": &f.title, "description": &f.description, "default": &f.preset,
		"enum": &enum, "enumNames": &enumNames, "oneOf": &oneOf, "items": &items,
		"minimum": &f.least, "maximum": &f.most, "minLength": &f.shortest, "maxLength": &f.longest,
		"minItems": &f.fewest, "maxItems": &f.many,
	})
	if absent(f.preset) {
		f.preset = nil
	}
	f.choices = slices.Concat(oneOf, items.anyOf, items.oneOf)
	for i, v := range slices.Concat(enum, items.enum) {
		c := choice{value: v, title: v}
		if i < len(enumNames) {
			c.title = enumNames[i]
		}
		f.choices = append(f.choices, c)
	}
	return f, err
}

// UnmarshalJSON reads a value with its title. One without a title is called by its value.
func (c *choice) UnmarshalJSON(schema []byte) error {
	err := decode(schema, targets{"const": &c.value, "title": &c.title, "description": &c.description})
	if c.title == "" {
		c.title = c.value
	}
	return err
}

// elements is the schema of an array's elements.
type elements struct {
	enum         []string
	anyOf, oneOf []choice
}

// UnmarshalJSON reads the schema of the elements.
func (e *elements) UnmarshalJSON(schema []byte) error {
	return decode(schema, targets{"enum": &e.enum, "anyOf": &e.anyOf, "oneOf": &e.oneOf})
}

// targets are the variables that an object's members are read into, by their exact names.
type targets map[string]any

// decode reads the members of an object. Those that have no target are passed over, but
// a name that differs from a target's only in case is refused, since others could read
// the member as that target. Nothing and null have none.
func decode(object []byte, to targets) error {
	switch {
	case absent(object):
		return nil
	case !json.Valid(object):
		return errors.New("not valid JSON")
	}
	read := map[string]bool{}
	walk := jsonscan.MembersOf(object, jsonscan.AnyDepth)
	for walk.Next() {
		name := string(jsonscan.Unescaped(walk.Key))
		target, known := to[name]
		switch {
		case !known:
			for exact := range to {
				if strings.EqualFold(exact, name) {
					return fmt.Errorf("the member %q must be written %q", name, exact)
				}
			}
			continue
		case read[name]:
			return fmt.Errorf("duplicate member %q", name)
		}
		read[name] = true
		if err := json.Unmarshal(walk.Val, target); err != nil {
			return fmt.Errorf("%s: %w", name, explained(err))
		}
	}
	if walk.Bad {
		return errors.New("expected an object")
	}
	return nil
}

// explained returns an error of decoding in words of JSON.
func explained(err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("it cannot be %s", t.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

func absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }
