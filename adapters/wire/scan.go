package wire

import (
	"bytes"
	"encoding/json"
	"iter"
)

// The functions here walk over a text that is known to be JSON; they check nothing but the depth.

// members yields the members of the object b: each name as it stands between its quotes, and its value. A value that is
// nested deeper than [MaxDepth] is yielded as nil, as the last.
func members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, val []byte) bool) {
		i := skipSpace(b, 1)
		for b[i] != '}' {
			end := stringEnd(b, i)
			key := b[i+1 : end-1]
			i = skipSpace(b, skipSpace(b, end)+1)
			if end = valueEnd(b, i); end < 0 {
				yield(key, nil)
				return
			}
			if !yield(key, b[i:end:end]) {
				return
			}
			if i = skipSpace(b, end); b[i] == ',' {
				i = skipSpace(b, i+1)
			}
		}
	}
}

// Members yields the members of an object that is known to be JSON, in their order: each name as it is meant, and its
// value as it is written. What is no object has none, and what is nested too deeply ends it.
func Members(object []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func(name []byte, value json.RawMessage) bool) {
		object = bytes.Trim(object, space)
		if len(object) == 0 || object[0] != '{' {
			return
		}
		for key, val := range members(object) {
			if val == nil || !yield(unescaped(key), val) {
				return
			}
		}
	}
}

// elements yields the elements of the array b; one that is nested too deeply as nil, as the last.
func elements(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := skipSpace(b, 1)
		for b[i] != ']' {
			end := valueEnd(b, i)
			if end < 0 {
				yield(nil)
				return
			}
			if !yield(b[i:end:end]) {
				return
			}
			if i = skipSpace(b, end); b[i] == ',' {
				i = skipSpace(b, i+1)
			}
		}
	}
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r' {
		i++
	}
	return i
}

// stringEnd is the index behind the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// valueEnd is the index behind the value that begins at i, or -1 when it is nested too deeply.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return nestedEnd(b, i)
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}

func nestedEnd(b []byte, i int) int {
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
		case '{', '[':
			if depth++; depth >= MaxDepth {
				return -1 // the object around it is one level more
			}
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// unescaped is what a string's inner text means; without escapes it is returned as it is.
func unescaped(inner []byte) []byte {
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	if json.Unmarshal(bytes.Join([][]byte{{'"'}, inner, {'"'}}, nil), &s) != nil {
		return inner
	}
	return []byte(s)
}

// unquoted is the meaning of a value that is a string, else nil.
func unquoted(val []byte) []byte {
	if len(val) < 2 || val[0] != '"' {
		return nil
	}
	return unescaped(val[1 : len(val)-1])
}
