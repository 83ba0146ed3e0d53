package jsonscan

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Cursor moves over JSON from token to token. Its methods report whether the requested token
// is there, and move past it then; otherwise the cursor can no longer be used.
type Cursor struct {
	data []byte
	at   int
}

// Valid is json.Valid, and faster where text is not nested too deep for a Cursor.
func Valid(text []byte) bool {
	c := NewCursor(text)
	return c.Skip() && c.End() || json.Valid(text)
}

// NewCursor returns a cursor in front of data.
func NewCursor(data []byte) Cursor { return Cursor{data: data} }

// End reports whether nothing but white space is left.
func (c *Cursor) End() bool { return c.Peek() == 0 && c.at == len(c.data) }

// Text takes a string, or null, which leaves to as it is.
func (c *Cursor) Text(to *string) bool {
	if c.Null() {
		return true
	}
	c.Peek()
	from := c.at
	inner, plain, ok := c.str()
	switch {
	case !ok:
		return false
	case plain, bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner):
		*to = string(inner)
		return true
	}
	return json.Unmarshal(c.data[from:c.at], to) == nil
}

// Null takes null.
func (c *Cursor) Null() bool { return c.Literal("null") }

// Peek passes over white space and returns the byte behind it; 0: there is none.
func (c *Cursor) Peek() byte {
	for c.at < len(c.data) {
		switch b := c.data[c.at]; b {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return b
		}
	}
	return 0
}

// Take takes one byte, such as a bracket.
func (c *Cursor) Take(b byte) bool {
	if c.Peek() != b {
		return false
	}
	c.at++
	return true
}

// Literal takes a word or a number as it is written, if it ends there.
func (c *Cursor) Literal(word string) bool {
	if c.Peek() != word[0] {
		return false
	}
	end := c.at + len(word)
	if end > len(c.data) || string(c.data[c.at:end]) != word {
		return false
	}
	if end < len(c.data) {
		switch c.data[end] {
		case ' ', '\t', '\r', '\n', ',', '}', ']':
		default:
			return false
		}
	}
	c.at = end
	return true
}

// Key takes the name of a member and the colon behind it. Names that are not plain ASCII
// are not taken.
func (c *Cursor) Key() (key []byte, ok bool) {
	key, plain, ok := c.str()
	return key, ok && plain && c.Take(':')
}

// Word takes a string of ASCII characters that mean themselves, and returns them.
func (c *Cursor) Word() (word []byte, ok bool) {
	word, plain, ok := c.str()
	return word, ok && plain
}

// Quoted takes a string and returns it with its quotes. plain reports that it is ASCII without escapes.
func (c *Cursor) Quoted() (val []byte, plain, ok bool) {
	c.Peek()
	from := c.at
	if _, plain, ok = c.str(); !ok {
		return nil, false, false
	}
	return c.data[from:c.at:c.at], plain, true
}

// str takes a string. plain reports that it is ASCII without escapes.
func (c *Cursor) str() (inner []byte, plain, ok bool) {
	if !c.Take('"') {
		return nil, false, false
	}
	rest := c.data[c.at:]
	plain = true
	for i := ascii(rest); i < len(rest); i += 1 + ascii(rest[i+1:]) {
		switch b := rest[i]; {
		case b == '"':
			c.at += i + 1
			return rest[:i], plain, true
		case b == '\\':
			plain = false
			n := escape(rest[i+1:])
			if n == 0 {
				return nil, false, false
			}
			i += n
		case b < ' ':
			return nil, false, false
		case b >= utf8.RuneSelf:
			plain = false
		}
	}
	return nil, false, false
}

// escape returns the number of bytes that belong to a backslash; 0: the escape is invalid.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) < 5 {
			return 0
		}
		for _, h := range b[1:5] {
			if (h < '0' || h > '9') && (h|0x20 < 'a' || h|0x20 > 'f') {
				return 0
			}
		}
		return 5
	}
	return 0
}

// Offset returns where in the text the cursor is.
func (c *Cursor) Offset() int { return c.at }

// Plain reports whether a text can be in a JSON string as it is.
func Plain(text []byte) bool {
	n := ascii(text)
	if n == len(text) {
		return true
	}
	for i := n; i < len(text); i += 1 + ascii(text[i+1:]) {
		if text[i] < utf8.RuneSelf {
			return false
		}
	}
	return utf8.Valid(text[n:])
}

// Value takes any value and returns its text. Those that are nested deeper than 20 levels
// are not taken.
func (c *Cursor) Value() (text []byte, ok bool) {
	c.Peek()
	from := c.at
	if !c.skip(0) {
		return nil, false
	}
	return c.data[from:c.at], true
}

// Skip is Value without its text.
func (c *Cursor) Skip() bool { return c.skip(0) }

// maxSkipped limits the nesting of skipped values.
const maxSkipped = 20

func (c *Cursor) skip(depth int) bool {
	if depth > maxSkipped {
		return false
	}
	switch b := c.Peek(); b {
	case '"':
		_, _, ok := c.str()
		return ok
	case '{', '[':
		return c.skipAll(b, depth)
	case 't':
		return c.Literal("true")
	case 'f':
		return c.Literal("false")
	case 'n':
		return c.Literal("null")
	}
	return c.number()
}

// skipAll passes over an object or a list.
func (c *Cursor) skipAll(open byte, depth int) bool {
	c.at++
	end := open + 2 // of both
	if c.Take(end) {
		return true
	}
	for {
		if open == '{' {
			if _, _, ok := c.str(); !ok || !c.Take(':') {
				return false
			}
		}
		if !c.skip(depth + 1) {
			return false
		}
		if !c.Take(',') {
			return c.Take(end)
		}
	}
}

func (c *Cursor) number() bool {
	digits := func() bool {
		from := c.at
		for c.at < len(c.data) && c.data[c.at] >= '0' && c.data[c.at] <= '9' {
			c.at++
		}
		return c.at > from
	}
	c.next('-')
	if !c.next('0') && !digits() {
		return false
	}
	if c.next('.') && !digits() {
		return false
	}
	if c.next('e') || c.next('E') {
		if !c.next('+') {
			c.next('-')
		}
		return digits()
	}
	return true
}

// next is Take without white space in front.
func (c *Cursor) next(b byte) bool {
	if c.at == len(c.data) || c.data[c.at] != b {
		return false
	}
	c.at++
	return true
}
