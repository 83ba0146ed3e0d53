package configs

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file. The largest sensible configuration is a tenth of each.
const (
	maxFile    = 1 << 20 // bytes
	maxTokens  = 20_000  // words and signs; a block of text is one
	maxNesting = 32      // brackets open at once, or list dashes on one line
	maxIndent  = 200     // columns in front of a key
	maxValues  = 20_000  // values after aliases are followed
)

// Parse reads a layer from YAML or JSON. name stands for the file in messages
// and its folder is where relative file references start. The layer holds what
// the text says, without defaults; Resolve completes it. The error is an
// *Error with all of the text's problems.
func Parse(name string, data []byte) (*Config, error) {
	c, problems := decodeFile(name, data, false)
	return c, asError(append(problems, checkValues(c)...))
}

// decodeFile never returns a nil layer. own says that the file is the user's.
func decodeFile(name string, data []byte, own bool) (*Config, []Problem) {
	c := &Config{Source: name, where: map[string]Position{}, bad: map[string]bool{}}
	body, problem := parseYAML(name, data)
	if problem != nil {
		return c, []Problem{*problem}
	}
	d := &decoder{
		file:  name,
		dir:   folderOf(name),
		own:   own,
		where: c.where,
		bad:   c.bad,
		left:  maxValues,
	}
	d.document(body, c)
	return c, d.problems
}

// folderOf returns the folder of a file, in which relative paths begin.
func folderOf(file string) string {
	dir := filepath.Dir(file)
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// parseYAML returns the document's tree, nil for an empty one.
func parseYAML(name string, data []byte) (ast.Node, *Problem) {
	whole := func(message string) *Problem {
		return &Problem{Position: Position{File: name}, Message: message}
	}
	if problem := unreadable(name, data); problem != nil {
		return nil, problem
	}
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if json.Valid(data) {
		// In JSON a tab is only ever space between words. YAML's rules for it
		// are others, and a space keeps the columns.
		data = bytes.ReplaceAll(data, []byte("\t"), []byte(" "))
	}
	// The library counts the line of a comment twice that ends with both.
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	file, err := parseBounded(string(data))
	if err != nil {
		p := whole(err.Error())
		var at interface {
			GetToken() *token.Token
			GetMessage() string
		}
		if errors.As(err, &at) {
			p.Message = at.GetMessage()
			p.Position = place(name, at.GetToken())
		}
		return nil, p
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch doc.Body.(type) {
		case nil, *ast.CommentGroupNode, *ast.DirectiveNode:
			continue
		}
		if body != nil {
			return nil, &Problem{
				Position: place(name, doc.Body.GetToken()),
				Message:  "a second document starts here; a configuration is one",
			}
		}
		body = doc.Body
	}
	return body, nil
}

// A boundError is a document that is too much for the parser.
type boundError struct {
	message string
	at      *token.Token
}

func (e *boundError) Error() string          { return e.message }
func (e *boundError) GetMessage() string     { return e.message }
func (e *boundError) GetToken() *token.Token { return e.at }

// parseBounded runs the library's lexer and parser. The parser recurses by
// nesting and is quadratic, so what it gets is bounded first.
func parseBounded(text string) (file *ast.File, err error) {
	defer func() {
		if recover() != nil { // the library's fault, and a person's file
			file, err = nil, errors.New("cannot be read as YAML or JSON")
		}
	}()
	tokens := lexer.Tokenize(text)
	open, dashes, line := 0, 0, 0
	for _, t := range tokens[:min(len(tokens), maxTokens)] {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
			if t.Position.Column > maxIndent && t.Type != token.CommentType && open == 0 {
				return nil, &boundError{"is indented too deeply", t}
			}
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			open++
		case token.MappingEndType, token.SequenceEndType:
			open--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if open > maxNesting || dashes > maxNesting {
			return nil, &boundError{"is nested too deeply", t}
		}
	}
	if len(tokens) > maxTokens {
		return nil, &boundError{"the file has too many settings; this one is over the limit", tokens[maxTokens]}
	}
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// place returns a token's position.
func place(file string, t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{File: file}
	}
	return Position{File: file, Line: max(t.Position.Line, 1), Column: max(t.Position.Column, 1)}
}

func firstInvalid(file string, data []byte) Position {
	p := Position{File: file, Line: 1, Column: 1}
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n == 1 {
			break
		}
		p.Column++
		if r == '\n' {
			p.Line, p.Column = p.Line+1, 1
		}
		data = data[n:]
	}
	return p
}
