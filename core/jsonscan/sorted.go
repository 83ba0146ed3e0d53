package jsonscan

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// maxSorted limits the nesting of values that AppendSorted takes.
const maxSorted = 32

// AppendSorted appends a JSON value in the form in which encoding/json writes what it has read
// into an any: without white space, members sorted by name and the last of those with one name,
// strings with no more escapes than they need. Numbers stay as they are. It takes values that are
// nested to 32 levels; false: it has not taken the value, and dst is to be given up.
func AppendSorted(dst, val []byte) ([]byte, bool) {
	s := sorter{b: val, members: make([]written, 0, 8)}
	dst, ok := s.value(dst, 0)
	return dst, ok && skipSpace(val, s.i) == len(val)
}

// sorter reads a value and writes it sorted.
type sorter struct {
	b       []byte
	i       int
	members []written // of the objects that are open, the outermost first
	moved   []byte    // scratch
}

// written is a member of an object in the output: "key":value.
type written struct{ from, colon, to int }

func (s *sorter) value(dst []byte, depth int) ([]byte, bool) {
	if s.i = skipSpace(s.b, s.i); s.i >= len(s.b) || depth > maxSorted {
		return dst, false
	}
	switch s.b[s.i] {
	case '{':
		return s.object(dst, depth)
	case '[':
		return s.array(dst, depth)
	case '"':
		return s.text(dst)
	}
	end := afterValue(s.b, s.i, 0)
	if end < 0 {
		return dst, false
	}
	dst = append(dst, s.b[s.i:end]...)
	s.i = end
	return dst, true
}

// text appends a string. One that is spelled as encoding/json does is copied.
func (s *sorter) text(dst []byte) ([]byte, bool) {
	end := afterString(s.b, s.i)
	if end < 0 {
		return dst, false
	}
	val := s.b[s.i:end]
	s.i = end
	if isSpelled(val[1 : len(val)-1]) {
		return append(dst, val...), true
	}
	var text string
	if json.Unmarshal(val, &text) != nil {
		return dst, false
	}
	dst, err := Append(dst, text)
	return dst, err == nil
}

// isSpelled reports whether encoding/json writes a string as it is between its quotes.
func isSpelled(inner []byte) bool {
	ascii := true
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '\\':
			if i++; i == len(inner) || bytes.IndexByte([]byte(`"\nrtbf`), inner[i]) < 0 {
				return false
			}
		case c < ' ':
			return false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return ascii || utf8.Valid(inner) && !bytes.Contains(inner, []byte("\u2028")) && !bytes.Contains(inner, []byte("\u2029"))
}

func (s *sorter) array(dst []byte, depth int) ([]byte, bool) {
	s.i++
	dst = append(dst, '[')
	for first := true; ; first = false {
		if s.i = skipSpace(s.b, s.i); s.i >= len(s.b) {
			return dst, false
		}
		switch c := s.b[s.i]; {
		case c == ']':
			s.i++
			return append(dst, ']'), true
		case first:
		case c == ',':
			s.i++
			dst = append(dst, ',')
		default:
			return dst, false
		}
		var ok bool
		if dst, ok = s.value(dst, depth+1); !ok {
			return dst, false
		}
	}
}

func (s *sorter) object(dst []byte, depth int) ([]byte, bool) {
	s.i++
	dst = append(dst, '{')
	begin, outer := len(dst), len(s.members)
	for {
		if s.i = skipSpace(s.b, s.i); s.i >= len(s.b) {
			return dst, false
		}
		switch c := s.b[s.i]; {
		case c == '}':
			s.i++
			dst = s.sort(dst, begin, s.members[outer:])
			s.members = s.members[:outer]
			return append(dst, '}'), true
		case len(s.members) == outer:
		case c == ',':
			s.i = skipSpace(s.b, s.i+1)
			dst = append(dst, ',')
		default:
			return dst, false
		}
		m := written{from: len(dst)}
		var ok bool
		if dst, ok = s.text(dst); !ok {
			return dst, false
		}
		m.colon = len(dst)
		if s.i = skipSpace(s.b, s.i); s.i >= len(s.b) || s.b[s.i] != ':' {
			return dst, false
		}
		s.i++
		if dst, ok = s.value(append(dst, ':'), depth+1); !ok {
			return dst, false
		}
		m.to = len(dst)
		s.members = append(s.members, m)
	}
}

// sort brings the members of an object, which begin at dst[begin], into order.
func (s *sorter) sort(dst []byte, begin int, members []written) []byte {
	name := func(b []byte, m written) []byte { return Unescaped(b[m.from+1 : m.colon-1]) }
	inOrder := true
	for i := 1; i < len(members) && inOrder; i++ {
		inOrder = bytes.Compare(name(dst, members[i-1]), name(dst, members[i])) < 0
	}
	if inOrder {
		return dst
	}
	slices.SortStableFunc(members, func(x, y written) int { return bytes.Compare(name(dst, x), name(dst, y)) })
	s.moved = append(s.moved[:0], dst[begin:]...)
	old := func(m written) written { return written{m.from - begin, m.colon - begin, m.to - begin} }
	dst = dst[:begin]
	for i, m := range members {
		m = old(m)
		if i+1 < len(members) && bytes.Equal(name(s.moved, m), name(s.moved, old(members[i+1]))) {
			continue
		}
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(dst, s.moved[m.from:m.to]...)
	}
	return dst
}
