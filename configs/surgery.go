package configs

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// source is the text of a file that is being edited. Each operation finds its place
// in a syntax tree made anew, and replaces a piece of the text there. Whether the
// text then says what it should is checked afterwards: what stands here may give up,
// and need not foresee everything that YAML can be.
type source struct {
	file string
	mark string // the byte order mark, if there is one
	text string
	json bool
	body ast.Node
}

// read takes a text. The error is an *Error: it is not YAML at all; problems is what
// else is wrong with it.
func (t *source) read(data []byte) (c *Config, problems []Problem, err error) {
	body, problem := parseYAML(t.file, data)
	if problem != nil {
		return nil, nil, &Error{Problems: []Problem{*problem}}
	}
	t.mark, t.text = "", string(data)
	if rest, ok := strings.CutPrefix(t.text, "\ufeff"); ok {
		t.mark, t.text = "\ufeff", rest
	}
	t.body, t.json = body, json.Valid([]byte(t.text))
	c, problems = decodeFile(t.file, data, true)
	return c, append(problems, checkValues(c)...), nil
}

func (t *source) bytes() []byte { return []byte(t.mark + t.text) }

// splice replaces the piece from a to b, and reads the result.
func (t *source) splice(a, b int, with string) error {
	_, _, err := t.read([]byte(t.mark + t.text[:a] + with + t.text[b:]))
	return err
}

// step is a mapping on the way to a setting, and which of its pairs leads on; -1:
// none does.
type step struct {
	in   *ast.MappingNode
	pair int
}

func (s step) value() ast.Node { return s.in.Values[s.pair].Value }

var errShape = errors.New("unexpected shape")

// walk follows a path for as long as it is there.
func (t *source) walk(path []string) (way []step, err error) {
	at := t.body
	for _, name := range path {
		if a, ok := at.(*ast.AnchorNode); ok {
			at = a.Value
		}
		var m *ast.MappingNode
		switch n := at.(type) {
		case nil, *ast.NullNode:
			return way, nil
		case *ast.MappingNode:
			m = n
		case *ast.AliasNode:
			return nil, t.cannot(path, "stands in an alias (*); change it by hand")
		default:
			return nil, t.cannot(path, notAlone)
		}
		i := slices.IndexFunc(m.Values, func(v *ast.MappingValueNode) bool {
			key, ok := keyName(v.Key)
			_, explicit := v.Key.(*ast.MappingKeyNode)
			return ok && key == name && !explicit
		})
		way = append(way, step{m, i})
		if i < 0 {
			return way, nil
		}
		at = m.Values[i].Value
	}
	return way, nil
}

func (t *source) cannot(path []string, message string) error {
	key := ""
	for _, name := range path {
		key = join(key, name)
	}
	return &Error{Problems: []Problem{{Position: Position{File: t.file}, Key: key, Message: message}}}
}

// set writes a setting, and those above it that are missing.
func (t *source) set(path []string, value any) error {
	way, err := t.walk(path)
	if err != nil {
		return err
	}
	missing := len(path) - len(way)
	if len(way) > 0 && way[len(way)-1].pair < 0 {
		missing++
	}
	rest := path[len(path)-missing:]
	item := setting{path[len(path)-1], value}
	for i := len(rest) - 2; i >= 0; i-- {
		item = setting{rest[i], tree{item}}
	}
	switch {
	case len(way) == 0:
		err = t.begin(item)
	case missing == 0:
		err = t.replace(way, item)
	case way[len(way)-1].pair < 0:
		err = t.insert(way, item)
	default: // nothing stands below the last key
		err = t.fill(way, tree{item})
	}
	return t.explain(path, err)
}

// unset removes a setting. What holds nothing else goes with it, but for a whole
// section of the file.
func (t *source) unset(path []string) error {
	way, err := t.walk(path)
	if err != nil {
		return err
	}
	if len(way) < len(path) || way[len(way)-1].pair < 0 {
		return t.cannot(path, "comes from a merge key (<<); change it by hand")
	}
	last := way[len(way)-1]
	if len(last.in.Values) == 1 && len(path) > 2 {
		return t.unset(path[:len(path)-1])
	}
	if last.in.IsFlowStyle {
		err = t.cutFlow(last)
	} else {
		var a, b int
		if a, b, err = t.lines(way); err == nil {
			err = t.splice(a, b, "")
		}
	}
	return t.explain(path, err)
}

// explain makes an error of one operation into one for a person.
func (t *source) explain(path []string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) && known.Problems[0].Key != "" {
		return err
	}
	return t.cannot(path, notAlone)
}

// offset is where a token begins. The library's own offsets are not to be relied on.
func (t *source) offset(tok *token.Token) (int, error) {
	if tok == nil || tok.Position == nil {
		return 0, errShape
	}
	at := 0
	for range tok.Position.Line - 1 {
		n := strings.IndexByte(t.text[at:], '\n')
		if n < 0 {
			return 0, errShape
		}
		at += n + 1
	}
	for range tok.Position.Column - 1 {
		r, n := utf8.DecodeRuneInString(t.text[at:])
		if n == 0 || r == '\n' {
			return 0, errShape
		}
		at += n
	}
	return at, nil
}

// keyAt is where a pair's key begins.
func (t *source) keyAt(pair *ast.MappingValueNode) (int, error) {
	at, err := t.offset(pair.Key.GetToken())
	if err != nil {
		return 0, err
	}
	if end, ok := t.wordEnd(at, pair.Key); !ok || end <= at {
		return 0, errShape
	}
	return at, nil
}

// afterColon is where a pair's value may begin.
func (t *source) afterColon(pair *ast.MappingValueNode) (int, error) {
	at, err := t.keyAt(pair)
	if err != nil {
		return 0, err
	}
	end, _ := t.wordEnd(at, pair.Key)
	end = t.skip(end, " \t")
	if !strings.HasPrefix(t.text[end:], ":") {
		return 0, errShape
	}
	return end + 1, nil
}

// wordEnd is where a word ends that begins at an offset. It gives up on those of
// several lines.
func (t *source) wordEnd(at int, n ast.Node) (int, bool) {
	tok, rest := n.GetToken(), t.text[at:]
	if tok.Type == token.DoubleQuoteType || tok.Type == token.SingleQuoteType {
		return t.quoteEnd(at)
	}
	if tok.Value == "" || strings.ContainsAny(tok.Value, "\r\n") || !strings.HasPrefix(rest, tok.Value) {
		return 0, false
	}
	return at + len(tok.Value), true
}

func (t *source) quoteEnd(at int) (int, bool) {
	quote := t.text[at]
	if quote != '"' && quote != '\'' {
		return 0, false
	}
	for i := at + 1; i < len(t.text); i++ {
		switch c := t.text[i]; {
		case c == '\\' && quote == '"':
			i++
		case c == quote && quote == '\'' && i+1 < len(t.text) && t.text[i+1] == '\'':
			i++
		case c == quote:
			return i + 1, true
		}
	}
	return 0, false
}

// valueRange is where a value begins and ends that stands in one piece: a word, or
// something in brackets. ok: it does.
func (t *source) valueRange(n ast.Node) (a, b int, ok bool) {
	var begin, end *token.Token
	switch n := n.(type) {
	case *ast.MappingNode:
		begin, end = n.Start, n.End
		if !n.IsFlowStyle {
			return 0, 0, false
		}
	case *ast.SequenceNode:
		begin, end = n.Start, n.End
		if !n.IsFlowStyle {
			return 0, 0, false
		}
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		a, err := t.offset(n.GetToken())
		if err != nil || a >= len(t.text) {
			return 0, 0, false
		}
		b, ok := t.wordEnd(a, n)
		return a, b, ok
	default:
		return 0, 0, false
	}
	a, err := t.offset(begin)
	b, err2 := t.offset(end)
	if err != nil || err2 != nil || b >= len(t.text) || !strings.ContainsRune("{[", rune(t.text[a])) ||
		!strings.ContainsRune("}]", rune(t.text[b])) {
		return 0, 0, false
	}
	return a, b + 1, true
}

// skip is the first offset from at on that holds none of the characters.
func (t *source) skip(at int, chars string) int {
	return len(t.text) - len(strings.TrimLeft(t.text[at:], chars))
}

func (t *source) lineStart(at int) int { return strings.LastIndexByte(t.text[:at], '\n') + 1 }

// lineEnd is where the next line begins.
func (t *source) lineEnd(at int) int {
	if n := strings.IndexByte(t.text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(t.text)
}

// leads reports whether nothing but space is in front of an offset in its line.
func (t *source) leads(at int) bool { return strings.Trim(t.text[t.lineStart(at):at], " \t") == "" }

// form is how the file writes.
func (t *source) form() form {
	f := form{json: t.json, eol: "\n", step: "  "}
	if i := strings.IndexByte(t.text, '\n'); i > 0 && t.text[i-1] == '\r' {
		f.eol = "\r\n"
	}
	for line := range strings.Lines(t.text) {
		word := strings.TrimLeft(line, " \t")
		if indent := line[:len(line)-len(word)]; indent != "" && strings.Trim(word, "\r\n") != "" && word[0] != '#' {
			if len(indent) <= 8 && (t.json || !strings.Contains(indent, "\t")) {
				f.step = indent
			}
			break
		}
	}
	return f
}
