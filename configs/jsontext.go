package configs

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	"github.com/tailscale/hujson"

	"dragoman/configs/jsonc"
)

// jsonText is a file of JSON with comments.
type jsonText struct {
	*jsonc.Text
	file string
}

// parseJSON parses a text.
func parseJSON(file string, data []byte) (*jsonText, *Problem) {
	if problem := unreadable(file, data); problem != nil {
		return nil, problem
	}
	t, err := jsonc.Parse(data, maxNesting)
	var wrong *jsonc.SyntaxError
	if errors.As(err, &wrong) {
		return nil, &Problem{Position: Position{file, wrong.Line, wrong.Column}, Message: wrong.Message}
	}
	return &jsonText{t, file}, nil
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
		at := firstInvalid(file, bytes.TrimPrefix(data, []byte(jsonc.ByteOrderMark)))
		return &Problem{Position: at, Message: "is not UTF-8 text; save the file as UTF-8"}
	}
	return nil
}

// position returns the position of an offset.
func (t *jsonText) position(at int) Position {
	line, column := t.Position(at)
	return Position{File: t.file, Line: line, Column: column}
}

func (t *jsonText) wrong(at hujson.Value, key, message string) *Problem {
	return &Problem{Position: t.position(at.StartOffset), Key: key, Message: message}
}

// node returns a value in the form of the decoder.
func (t *jsonText) node(v hujson.Value) ast.Node {
	switch value := v.Value.(type) {
	case *hujson.Object:
		m := ast.Mapping(t.token(v, "{"), true)
		for _, member := range value.Members {
			m.Values = append(m.Values, t.pair(jsonc.Name(member), member.Name, t.node(member.Value)))
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
