package jsonscan

import "bytes"

// AnyDepth is the limit for values that may be nested as deeply as their text is long.
const AnyDepth = int(^uint(0) >> 1)

// Members walks through the members of a JSON object without looking closer at
// their values than to find their ends.
type Members struct {
	Key []byte // without quotes, still escaped
	Val []byte // the value's text
	Bad bool   // it is not an object, or nested too deeply

	b     []byte
	i     int
	depth int
	begun bool // there was a member
}

// MembersOf returns a walk through the object b, whose values may be nested to a depth.
func MembersOf(b []byte, depth int) Members {
	i := skipSpace(b, 0)
	return Members{b: b, i: i + 1, depth: depth, Bad: i >= len(b) || b[i] != '{'}
}

// Next goes to the next member; false: there is none, or m.Bad.
func (m *Members) Next() bool { return m.NextKey() && m.Value() }

// NextKey reads the next member's key. Value must be called before the next.
func (m *Members) NextKey() bool {
	b, i := m.b, skipSpace(m.b, m.i)
	if m.Bad || i >= len(b) {
		return m.fail()
	}
	switch c := b[i]; {
	case c == '}':
		return m.end(i + 1)
	case c == ',' && m.begun:
		i = skipSpace(b, i+1)
	case m.begun:
		return m.fail()
	}
	end := afterString(b, i)
	if end < 0 {
		return m.fail()
	}
	m.Key, m.begun = b[i+1:end-1], true
	if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
		return m.fail()
	}
	m.i = i + 1
	return true
}

// Value reads the value behind a key.
func (m *Members) Value() bool {
	i := skipSpace(m.b, m.i)
	end := afterValue(m.b, i, m.depth)
	if end < 0 {
		return m.fail()
	}
	m.Val, m.i = m.b[i:end:end], end
	return true
}

// end checks that nothing follows the object.
func (m *Members) end(i int) bool {
	m.i = i
	m.Bad = skipSpace(m.b, i) != len(m.b)
	return false
}

func (m *Members) fail() bool {
	m.Bad = true
	return false
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && IsSpace(b[i]) {
		i++
	}
	return i
}

// Elements walks through the elements of a JSON array, as Members does.
type Elements struct {
	Val []byte
	Bad bool // it is not an array, or nested too deeply

	b     []byte
	i     int
	depth int
}

// ElementsOf returns a walk through the array b, which has no white space around it and
// whose elements may be nested to a depth.
func ElementsOf(b []byte, depth int) Elements {
	return Elements{b: b, i: 1, depth: depth, Bad: len(b) < 2 || b[0] != '[' || b[len(b)-1] != ']'}
}

// Next goes to the next element; false: there is none, or e.Bad.
func (e *Elements) Next() bool {
	for !e.Bad && e.i < len(e.b)-1 {
		switch c := e.b[e.i]; {
		case IsSpace(c):
			e.i++
		case c == ',' && e.Val != nil:
			e.Val = nil
			e.i++
		default:
			end := afterValue(e.b, e.i, e.depth)
			if e.Bad = e.Val != nil || end < 0 || end >= len(e.b); e.Bad {
				return false
			}
			e.Val, e.i = e.b[e.i:end:end], end
			return true
		}
	}
	return false
}

// IsSpace reports whether c is white space between values.
func IsSpace(c byte) bool { return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r') }

// afterString returns the index behind the string that begins at b[i], or -1.
func afterString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' { // the quote in front ends them
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// afterValue returns the index behind the value that begins at b[i], or -1 if none does that is
// nested to at most a depth. It counts brackets and does not recurse.
func afterValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return afterString(b, i)
	case '{', '[':
		return nested(b, i, depth)
	}
	from := i
	for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] != ':' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// nested is afterValue for an object or an array.
func nested(b []byte, i, most int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := afterString(b, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		case '{', '[':
			if depth++; depth > most {
				return -1
			}
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
