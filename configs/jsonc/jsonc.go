// Package jsonc reads JSON with comments and trailing commas, and changes pieces of it so that
// every other byte stays.
package jsonc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// Text is a parsed text of JSON that may contain comments and trailing commas.
type Text struct {
	Data []byte // without a byte order mark
	Root hujson.Value

	mark  string // the byte order mark, if any
	lines []int  // the offset of each line
}

// ByteOrderMark may stand at the beginning of a file.
const ByteOrderMark = "\ufeff"

// SyntaxError is a mistake at a place in a text, which is in UTF-8.
type SyntaxError struct {
	Line, Column int // from 1, in characters; 0: the place is not known
	Message      string
}

func (e *SyntaxError) Error() string { return e.Message }

// Parse parses a text that has at most so many brackets open at once. One that contains only space
// and comments is taken for {}; its Root has no Value then. The error is a *SyntaxError.
func Parse(data []byte, nesting int) (*Text, error) {
	t := &Text{Data: data, lines: []int{0}}
	if rest, ok := bytes.CutPrefix(data, []byte(ByteOrderMark)); ok {
		t.mark, t.Data = ByteOrderMark, rest
	}
	for i, c := range t.Data {
		if c == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	if at := tooDeep(t.Data, nesting); at >= 0 {
		line, column := t.Position(at)
		return nil, &SyntaxError{line, column, "is nested too deeply"}
	}
	// The parser requires a line break after a comment.
	text := append(bytes.Clone(t.Data), '\n')
	if hujson.Extra(text).IsValid() {
		return t, nil
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, t.syntax(err)
	}
	t.Root = root
	return t, nil
}

// syntax words an error of the parser. It shows no part of a literal, which may be a secret.
func (t *Text) syntax(err error) *SyntaxError {
	p := &SyntaxError{Message: "cannot be read as JSON"}
	var line, column int
	if _, bad := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); bad == nil {
		p.Line, p.Column = t.Position(len(t.Data))
		if line <= len(t.lines) {
			p.Line, p.Column = t.Position(min(t.lines[line-1]+column-1, len(t.Data)))
		}
	}
	switch inner := errors.Unwrap(err); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		p.Message = "the file ends too early: a bracket, a quote or a comment is not closed"
	case inner != nil && strings.HasPrefix(inner.Error(), "invalid literal"):
		p.Message = "is not valid JSON: put a text in quotes; true, false and null are written in lower case"
	case inner != nil:
		p.Message = inner.Error()
	}
	return p
}

// tooDeep returns the offset of the first bracket nested in more than most others; -1: none. It
// runs before the parser, which recurses.
func tooDeep(data []byte, most int) int {
	depth := 0
	skip := func(i int, end string) int {
		if n := bytes.Index(data[i:], []byte(end)); n >= 0 {
			return i + n + len(end) - 1
		}
		return len(data)
	}
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			switch rest := data[i:]; {
			case bytes.HasPrefix(rest, []byte("//")):
				i = skip(i, "\n")
			case bytes.HasPrefix(rest, []byte("/*")):
				i = skip(i+2, "*/")
			}
		case '{', '[':
			if depth++; depth > most {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

// Position returns the line and the column of an offset, from 1, in characters.
func (t *Text) Position(at int) (line, column int) {
	line = sort.SearchInts(t.lines, at+1)
	return line, 1 + utf8.RuneCount(t.Data[t.lines[line-1]:at])
}

// Bytes returns the whole text.
func (t *Text) Bytes() []byte { return append([]byte(t.mark), t.Data...) }

// Object returns a value as an object; nil: it is not an object.
func Object(v hujson.Value) *hujson.Object {
	o, _ := v.Value.(*hujson.Object)
	return o
}

// Name returns the name of a member.
func Name(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// MemberAt returns the index of the first member of an object whose name matches; -1: none.
func MemberAt(v hujson.Value, fits func(name string) bool) int {
	o := Object(v)
	if o == nil {
		return -1
	}
	for i, m := range o.Members {
		if fits(Name(m)) {
			return i
		}
	}
	return -1
}

// Member returns a member of an object; its Value is empty if it is missing.
func Member(v hujson.Value, name string) (m hujson.ObjectMember) {
	if i := MemberAt(v, func(have string) bool { return have == name }); i >= 0 {
		m = Object(v).Members[i]
	}
	return m
}

// maxForeignNesting limits the nesting in a file of another program.
const maxForeignNesting = 1000

// Plain returns a text of JSON without its comments and trailing commas; all other bytes keep
// their offsets.
func Plain(data []byte) ([]byte, error) {
	if tooDeep(data, maxForeignNesting) >= 0 {
		return nil, errors.New("it is nested too deeply")
	}
	v, err := hujson.Parse(append(bytes.Clone(data), '\n'))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	v.Standardize()
	return v.Pack(), nil
}
