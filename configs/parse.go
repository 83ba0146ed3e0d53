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

	"dragoman/configs/jsonc"
)

// Limits of a file. The largest sensible configuration has a tenth of each.
const (
	maxFile    = 1 << 20 // bytes
	maxTokens  = 20_000  // words and signs; a block of text is one
	maxNesting = 32      // brackets open at once, or list dashes on one line
	maxIndent  = 200     // columns before a key
	maxValues  = 20_000  // values, counting those of aliases
)

// Parse reads a layer from YAML or JSON. name stands for the file in messages and its folder is
// the base of relative file references. The layer has the settings of the text, without defaults;
// Resolve completes it. The error is an *Error with all of the text's problems.
func Parse(name string, data []byte) (*Config, error) {
	c, problems := decodeFile(name, data, false)
	return c, asError(append(problems, checkValues(c)...))
}

// decodeFile never returns a nil layer. own is set for the user's file.
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

// folderOf returns the folder of a file, the base of relative paths.
func folderOf(file string) string {
	dir := filepath.Dir(file)
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// parseYAML returns the document's tree, or nil for an empty one.
func parseYAML(name string, data []byte) (ast.Node, *Problem) {
	whole := func(message string) *Problem {
		return &Problem{Position: Position{File: name}, Message: message}
	}
	if problem := unreadable(name, data); problem != nil {
		return nil, problem
	}
	data = bytes.TrimPrefix(data, []byte(jsonc.ByteOrderMark))
	if json.Valid(data) {
		// In JSON a tab is only space between words. YAML has other rules for it, and a space
		// keeps the columns.
		data = bytes.ReplaceAll(data, []byte("\t"), []byte(" "))
	}
	// The library counts the line of a comment that ends with both twice.
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

// A boundError reports a document that exceeds the parser's limits.
type boundError struct {
	message string
	at      *token.Token
}

func (e *boundError) Error() string          { return e.message }
func (e *boundError) GetMessage() string     { return e.message }
func (e *boundError) GetToken() *token.Token { return e.at }

// parseBounded runs the library's lexer and parser. The parser recurses by nesting and takes
// quadratic time, so its input is limited first.
func parseBounded(text string) (file *ast.File, err error) {
	defer func() {
		if recover() != nil { // a panic of the library must not end the program
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
