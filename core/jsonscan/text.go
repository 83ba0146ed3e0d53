package jsonscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Trim returns a text without the white space around it.
func Trim(b []byte) []byte {
	from, end := 0, len(b)
	for from < end && IsSpace(b[from]) {
		from++
	}
	for from < end && IsSpace(b[end-1]) {
		end--
	}
	return b[from:end]
}

// IsString reports whether a value is a string.
func IsString(val []byte) bool { return len(val) >= 2 && val[0] == '"' }

// Text decodes a string as encoding/json does; for any other value it returns "".
func Text(val []byte) string {
	if !IsString(val) {
		return ""
	}
	inner := val[1 : len(val)-1]
	if isPlain(inner) {
		return string(inner)
	}
	return string(appendText(make([]byte, 0, len(inner)), inner))
}

// TextLen returns the length of Text in bytes.
func TextLen(val []byte) int {
	if IsString(val) && isPlain(val[1:len(val)-1]) {
		return len(val) - len(`""`)
	}
	return len(Text(val))
}

// Unescaped decodes the text between the quotes of a string to UTF-8. It shares the memory
// of inner if nothing there is escaped.
func Unescaped(inner []byte) []byte {
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return appendText(make([]byte, 0, len(inner)), inner)
}

// isPlain reports whether the text between the quotes of a string means itself.
func isPlain(inner []byte) bool { return bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) }

func appendText(s, inner []byte) []byte {
	for i := 0; i < len(inner); {
		switch c := inner[i]; {
		case c == '\\':
			s, i = appendUnescaped(s, inner, i+1)
		case c < utf8.RuneSelf:
			s = append(s, c)
			i++
		default:
			r, n := utf8.DecodeRune(inner[i:])
			s = utf8.AppendRune(s, r)
			i += n
		}
	}
	return s
}

// appendUnescaped appends the meaning of the escape whose letter is b[i], and returns the
// index after it.
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
