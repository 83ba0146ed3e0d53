package codec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// members walks through the members of a JSON object without looking closer at
// their values than to find their ends. It accepts all valid JSON and some that
// is not; it never reads outside of its input.
type members struct {
	b   []byte
	i   int
	key []byte // without quotes, still escaped, never empty
	val []byte // the value's text
	bad bool   // b is not an object
}

func membersOf(b []byte) members {
	m := members{b: b}
	if m.space(); m.i >= len(b) || b[m.i] != '{' {
		m.bad = true
	}
	m.i++
	return m
}

// next goes to the next member; false: there is none, or m.bad.
func (m *members) next() bool { return m.nextKey() && m.value() }

// nextKey reads the next member's key. The value must be read before the next.
func (m *members) nextKey() bool {
	if m.bad {
		return false
	}
	if m.space(); m.i >= len(m.b) {
		return m.fail()
	}
	if m.val != nil {
		switch m.b[m.i] {
		case '}':
			return m.end()
		case ',':
			m.i++
			m.space()
		default:
			return m.fail()
		}
	} else if m.b[m.i] == '}' {
		return m.end()
	}
	end := skipString(m.b, m.i)
	if end < m.i+3 {
		return m.fail()
	}
	m.key = m.b[m.i+1 : end-1]
	m.i = end
	if m.space(); m.i >= len(m.b) || m.b[m.i] != ':' {
		return m.fail()
	}
	m.i++
	return true
}

// value reads the value behind a key.
func (m *members) value() bool {
	m.space()
	end := skipValue(m.b, m.i)
	if end <= m.i {
		return m.fail()
	}
	m.val, m.i = m.b[m.i:end], end
	return true
}

// end checks that nothing follows the object.
func (m *members) end() bool {
	m.i++
	if m.space(); m.i != len(m.b) {
		m.bad = true
	}
	return false
}

func (m *members) fail() bool {
	m.bad = true
	return false
}

func (m *members) space() {
	for m.i < len(m.b) && isSpace(m.b[m.i]) {
		m.i++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// elements walks through the elements of a JSON array, as members does.
type elements struct {
	b   []byte
	i   int
	val []byte
	bad bool // b is not an array
}

func elementsOf(b []byte) elements {
	return elements{b: b, i: 1, bad: len(b) < 2 || b[0] != '[' || b[len(b)-1] != ']'}
}

// next goes to the next element; false: there is none, or e.bad.
func (e *elements) next() bool {
	for !e.bad && e.i < len(e.b)-1 {
		switch c := e.b[e.i]; {
		case isSpace(c):
			e.i++
		case c == ',' && e.val != nil:
			e.val = nil
			e.i++
		default:
			end := skipValue(e.b, e.i)
			if e.bad = e.val != nil || end < 0 || end >= len(e.b); e.bad {
				return false
			}
			e.val, e.i = e.b[e.i:end], end
			return true
		}
	}
	return false
}

// skipString returns the index behind the string that begins at b[i], or -1.
func skipString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for from := i + 1; ; {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return -1
		}
		quote := from + n
		esc := quote
		for esc > i+1 && b[esc-1] == '\\' {
			esc--
		}
		if (quote-esc)%2 == 0 {
			return quote + 1
		}
		from = quote + 1
	}
}

// skipValue returns the index behind the value that begins at b[i], or -1. It
// counts brackets and does not recurse.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return -1
			}
			i++
		case ' ', '\t', '\n', '\r', ',', ':':
			if depth == 0 {
				return -1
			}
			i++
			continue
		default:
			for i < len(b) && !isSpace(b[i]) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] != ':' {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

// parseUint reads a number that is a JSON integer without sign or exponent.
func parseUint(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || n > (1<<64-1-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// parseTime reads a string that holds a time.
func parseTime(b []byte) (t time.Time, ok bool) {
	if len(b) < 2 || b[0] != '"' {
		return time.Time{}, false
	}
	if t.UnmarshalText(b[1:len(b)-1]) != nil {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// parseString reads a string, like encoding/json; what is not a string is "".
func parseString(b []byte) string {
	if !isString(b) {
		return ""
	}
	b = b[1 : len(b)-1]
	if bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b) {
		return string(b)
	}
	s := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '\\':
			s, i = appendUnescaped(s, b, i+1)
		case c < utf8.RuneSelf:
			s = append(s, c)
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			s = utf8.AppendRune(s, r)
			i += n
		}
	}
	return string(s)
}

// stringLen returns the length of parseString's result, in bytes.
func stringLen(b []byte) int {
	if !isString(b) {
		return 0
	}
	if in := b[1 : len(b)-1]; bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		return len(in)
	}
	return len(parseString(b))
}

// isString reports whether a value is a string.
func isString(b []byte) bool { return len(b) >= 2 && b[0] == '"' }

// appendUnescaped appends what the escape whose letter is b[i] stands for, and
// returns the index behind it.
func appendUnescaped(s, b []byte, i int) ([]byte, int) {
	if i >= len(b) {
		return s, i
	}
	switch b[i] {
	case 'n':
		return append(s, '\n'), i + 1
	case 't':
		return append(s, '\t'), i + 1
	case 'r':
		return append(s, '\r'), i + 1
	case 'b':
		return append(s, '\b'), i + 1
	case 'f':
		return append(s, '\f'), i + 1
	case 'u':
		r := hexRune(b, i+1)
		i += 5
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if i+1 < len(b) && b[i] == '\\' && b[i+1] == 'u' {
				low = hexRune(b, i+2)
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += 6
			}
		}
		return utf8.AppendRune(s, r), min(i, len(b))
	default: // a quote, a backslash, a slash
		return append(s, b[i]), i + 1
	}
}

// hexRune reads four hexadecimal digits; -1: they are not there.
func hexRune(b []byte, i int) (r rune) {
	if i+4 > len(b) {
		return -1
	}
	for _, c := range b[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

// largeString is the size in bytes from which room for a string is made before it is written.
const largeString = 64 << 10

// escapes returns the number of bytes that appendString adds to a text in UTF-8.
func escapes(s string) (n int) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ':
			n += len(`u0000`)
		}
	}
	return n
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	if len(s) > largeString {
		dst = slices.Grow(dst, len(s)+escapes(s)+len(`""`)) // once, not by steps
	}
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + n
			case r == '\u2028' || r == '\u2029': // valid in JSON, ends a line for some readers
				dst = append(append(dst, s[start:i]...), '\\', 'u', '2', '0', '2', hex[r&0xf])
				start = i + n
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// appendKey begins a member of the object at the end of dst.
func appendKey(dst []byte, key string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(append(dst, '"'), key...)
	return append(dst, '"', ':')
}

// appendStringMember appends a member; none when s is empty.
func appendStringMember(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return appendString(appendKey(dst, key), s)
}

// appendIntMember appends a member; none when n is 0.
func appendIntMember(dst []byte, key string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(appendKey(dst, key), n, 10)
}

// appendTimeMember appends a member; none when t is zero.
func appendTimeMember(dst []byte, key string, t time.Time) []byte {
	if t = storable(t); t.IsZero() {
		return dst
	}
	dst = append(appendKey(dst, key), '"')
	return append(t.AppendFormat(dst, time.RFC3339Nano), '"')
}

// appendRawMember appends JSON that others wrote, byte for byte; none when raw
// is empty.
func appendRawMember(dst []byte, key string, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return dst
	}
	oneLine := !isSpace(raw[0]) && !isSpace(raw[len(raw)-1]) && bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0
	if oneLine && utf8.Valid(raw) && json.Valid(raw) {
		return append(appendKey(dst, key), raw...)
	}
	return appendString(appendKey(dst, key+"~"), string(raw))
}
