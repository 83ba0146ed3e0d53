package wire

import (
	"encoding/json"

	"dragoman/core/jsonscan"
)

// Member is a change that Edit makes to an object. Set makes one.
type Member struct {
	name  string
	value json.RawMessage
}

// Set gives the member name the value, which is JSON; nil removes the member.
func Set(name string, value json.RawMessage) Member { return Member{name, value} }

// Edit returns an object with members replaced in their places, added at the end, or
// removed. The other values stay as they were written: their order, their spaces and the
// spelling of their numbers. A nil object is an empty one.
func Edit(object json.RawMessage, changes ...Member) json.RawMessage {
	b := append(make([]byte, 0, len(object)+128), '{')
	var made uint
	put := func(name []byte, value json.RawMessage) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(jsonscan.AppendString(b, name), ':'), value...)
	}
members:
	for name, value := range Members(object) {
		for i, c := range changes {
			if c.name != string(name) {
				continue
			}
			if c.value != nil && made&(1<<i) == 0 {
				put(name, c.value)
			}
			made |= 1 << i
			continue members
		}
		put(name, value)
	}
	for i, c := range changes {
		if c.value != nil && made&(1<<i) == 0 {
			put([]byte(c.name), c.value)
		}
	}
	return append(b, '}')
}

// Object returns the members of an object, as they were written. Anything else has none.
func Object(b json.RawMessage) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	if len(b) > 0 && b[0] == '{' {
		_ = json.Unmarshal(b, &m) // it is part of a message that was parsed
	}
	return m
}

// JSON encodes texts, numbers, and maps, lists and structs of them, which never fails. Anything
// else becomes null.
func JSON(v any) json.RawMessage {
	b, err := AppendJSON(nil, v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}
