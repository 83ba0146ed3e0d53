package wire

import (
	"encoding/json"
	"iter"

	"dragoman/core/jsonscan"
)

// maxValue limits the nesting of a value in a message: the object around it is one level more.
const maxValue = MaxDepth - 1

// members yields the members of the object b, which is known to be JSON: each name as it
// is written between its quotes, and its value. A value that is nested deeper than
// [MaxDepth] is yielded as nil, as the last.
func members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, val []byte) bool) {
		m := jsonscan.MembersOf(b, maxValue)
		for m.Next() {
			if !yield(m.Key, m.Val) {
				return
			}
		}
		if m.Bad {
			yield(m.Key, nil)
		}
	}
}

// Members yields the members of an object that is known to be JSON, in their order: each name
// without escapes, and its value as it is written. Other values have no members. A value that is
// nested too deeply ends the sequence.
func Members(object []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func(name []byte, value json.RawMessage) bool) {
		m := jsonscan.MembersOf(object, maxValue)
		for m.Next() {
			if !yield(jsonscan.Unescaped(m.Key), m.Val) {
				return
			}
		}
	}
}

// Value returns the value of a member of an object that is known to be JSON, as it is written; of
// several it is the last. nil: there is none, or the text is no object.
func Value(object json.RawMessage, name string) (value json.RawMessage) {
	m := jsonscan.MembersOf(object, maxValue)
	for m.Next() {
		if string(jsonscan.Unescaped(m.Key)) == name {
			value = m.Val
		}
	}
	return value
}

// elements yields the elements of the array b, which is known to be JSON; one that is
// nested too deeply as nil, as the last.
func elements(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		e := jsonscan.ElementsOf(b, maxValue)
		for e.Next() {
			if !yield(e.Val) {
				return
			}
		}
		if e.Bad {
			yield(nil)
		}
	}
}

// unquoted is the meaning of a value that is a string, else nil.
func unquoted(val []byte) []byte {
	if !jsonscan.IsString(val) {
		return nil
	}
	return jsonscan.Unescaped(val[1 : len(val)-1])
}
