package codec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"dragoman/core/jsonscan"
)

// membersOf iterates over an object of the stored form, of any depth.
func membersOf(b []byte) jsonscan.Members { return jsonscan.MembersOf(b, jsonscan.AnyDepth) }

// elementsOf iterates over an array, like membersOf.
func elementsOf(b []byte) jsonscan.Elements { return jsonscan.ElementsOf(b, jsonscan.AnyDepth) }

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

// parseTime reads a string with a time.
func parseTime(b []byte) (t time.Time, ok bool) {
	if len(b) < 2 || b[0] != '"' {
		return time.Time{}, false
	}
	if t.UnmarshalText(b[1:len(b)-1]) != nil {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// largeString is the size in bytes above which the space for a string is allocated in
// advance.
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
		dst = slices.Grow(dst, len(s)+escapes(s)+len(`""`)) // one allocation
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
			case r == '\u2028' || r == '\u2029': // valid in JSON, but a line end for some readers
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

// appendRawMember appends JSON of other programs, byte for byte; none when raw is
// empty.
func appendRawMember(dst []byte, key string, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return dst
	}
	oneLine := !jsonscan.IsSpace(raw[0]) && !jsonscan.IsSpace(raw[len(raw)-1]) &&
		bytes.IndexByte(raw, '\n') < 0 &&
		bytes.IndexByte(raw, '\r') < 0
	if oneLine && utf8.Valid(raw) && json.Valid(raw) {
		return append(appendKey(dst, key), raw...)
	}
	return appendString(appendKey(dst, key+"~"), string(raw))
}
