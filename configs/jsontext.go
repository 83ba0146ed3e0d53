package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	"github.com/tailscale/hujson"
)

// jsonText is a parsed text of JSON that may contain comments and trailing commas.
type jsonText struct {
	file  string
	mark  string // the byte order mark, if any
	data  []byte // without it
	root  hujson.Value
	lines []int // the offset of each line
}

const byteOrderMark = "\ufeff"

// parseJSON parses a text. One that contains only space and comments is taken for {}; its root
// has no Value then.
func parseJSON(file string, data []byte) (*jsonText, *Problem) {
	if problem := unreadable(file, data); problem != nil {
		return nil, problem
	}
	t := &jsonText{file: file, data: data, lines: []int{0}}
	if rest, ok := bytes.CutPrefix(data, []byte(byteOrderMark)); ok {
		t.mark, t.data = byteOrderMark, rest
	}
	for i, c := range t.data {
		if c == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	if at := tooDeep(t.data, maxNesting); at >= 0 {
		return nil, &Problem{Position: t.position(at), Message: "is nested too deeply"}
	}
	// The parser requires a line break after a comment.
	text := append(bytes.Clone(t.data), '\n')
	if hujson.Extra(text).IsValid() {
		return t, nil
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, t.syntax(err)
	}
	t.root = root
	return t, nil
}

// unreadable returns the reason why a file cannot be parsed as text; nil: it can.
func unreadable(file string, data []byte) *Problem {
	whole := func(message string) *Problem {
		return &Problem{Position: Position{File: file}, Message: message}
	}
	switch {
	case len(data) > maxFile:
		return whole("is larger than 1 MiB")
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return whole("is UTF-16 text; save it as UTF-8")
	case !utf8.Valid(data):
		at := firstInvalid(file, bytes.TrimPrefix(data, []byte(byteOrderMark)))
		return &Problem{Position: at, Message: "is not UTF-8 text; save the file as UTF-8"}
	}
	return nil
}

// syntax words an error of the parser. It shows no part of a literal, which may be a secret.
func (t *jsonText) syntax(err error) *Problem {
	p := &Problem{Position: Position{File: t.file}, Message: "cannot be read as JSON"}
	var line, column int
	if _, bad := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); bad == nil {
		p.Position = t.position(len(t.data))
		if line <= len(t.lines) {
			p.Position = t.position(min(t.lines[line-1]+column-1, len(t.data)))
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

// position returns the position of an offset.
func (t *jsonText) position(at int) Position {
	line := sort.SearchInts(t.lines, at+1)
	return Position{File: t.file, Line: line, Column: 1 + utf8.RuneCount(t.data[t.lines[line-1]:at])}
}

// bytes returns the whole text.
func (t *jsonText) bytes() []byte { return append([]byte(t.mark), t.data...) }

// objectOf returns a value as an object; nil: it is not an object.
func objectOf(v hujson.Value) *hujson.Object {
	o, _ := v.Value.(*hujson.Object)
	return o
}

// nameOf returns the name of a member.
func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// node returns a value in the form of the decoder.
func (t *jsonText) node(v hujson.Value) ast.Node {
	switch value := v.Value.(type) {
	case *hujson.Object:
		m := ast.Mapping(t.token(v, "{"), true)
		for _, member := range value.Members {
			m.Values = append(m.Values, t.pair(nameOf(member), member.Name, t.node(member.Value)))
		}
		return m
	case *hujson.Array:
		s := ast.Sequence(t.token(v, "["), true)
		for _, e := range value.Elements {
			s.Values = append(s.Values, t.node(e))
		}
		return s
	case hujson.Literal:
		word := string(value)
		switch value.Kind() {
		case 't', 'f':
			return ast.Bool(t.token(v, word))
		case '0':
			if strings.ContainsAny(word, ".eE") {
				return ast.Float(t.token(v, word))
			}
			return ast.Integer(t.token(v, word))
		case '"':
			return t.text(v)
		}
	}
	return ast.Null(t.token(v, "null"))
}

// text returns a literal as a string: the content of a string, or another literal as written.
func (t *jsonText) text(v hujson.Value) ast.Node {
	s := v.Value.(hujson.Literal).String()
	at := t.position(v.StartOffset)
	return ast.String(token.DoubleQuote(s, s, &token.Position{Line: at.Line, Column: at.Column}))
}

// pair returns a member under a name; at is the position of the name.
func (t *jsonText) pair(name string, at hujson.Value, value ast.Node) *ast.MappingValueNode {
	place := t.position(at.StartOffset)
	key := ast.String(token.DoubleQuote(name, name, &token.Position{Line: place.Line, Column: place.Column}))
	return ast.MappingValue(t.token(at, ":"), key, value)
}

func (t *jsonText) token(v hujson.Value, word string) *token.Token {
	at := t.position(v.StartOffset)
	return token.New(word, word, &token.Position{Line: at.Line, Column: at.Column})
}

// maxForeignNesting limits the nesting in a file of another program.
const maxForeignNesting = 1000

// PlainJSON returns a text of JSON without its comments and trailing commas; all other bytes keep
// their offsets.
func PlainJSON(data []byte) ([]byte, error) {
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
