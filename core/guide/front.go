package guide

import (
	"fmt"
	"strings"
)

// Limits of front matter.
const (
	maxFront = 16 << 10 // bytes
	maxNodes = 1000     // values
	maxNest  = 6        // values within values
)

// node is a value of front matter: a text, a list or a mapping.
type node struct {
	kind   nodeKind
	text   string
	list   []node
	fields []field // in the order of the file
}

type nodeKind byte

const (
	textNode nodeKind = iota
	listNode
	mapNode
)

type field struct {
	key   string
	value node
}

// frontError describes a mistake in front matter, with its line.
type frontError struct {
	line    int // 1-based, in the file
	message string
}

func (e *frontError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.message) }

// splitFront splits a text into its front matter, a mapping, and the body. Front
// matter is between two lines "---", the first of which is the first line of the text.
// A text without it is all body. A *frontError is a mistake that makes it unreadable.
func splitFront(text string) (front node, body string, err error) {
	front.kind = mapNode
	first, rest, ok := strings.Cut(text, "\n")
	if !ok || strings.TrimRight(first, " \t\r") != "---" {
		return front, text, nil
	}
	end := 0
	for line := range strings.Lines(rest) {
		if bare := strings.TrimRight(line, " \t\r\n"); bare == "---" || bare == "..." {
			p := &frontParser{lines: strings.Split(strings.TrimSuffix(rest[:end], "\n"), "\n")}
			front, err = p.document()
			return front, rest[end+len(line):], err
		}
		if end += len(line); end > maxFront {
			return front, text, &frontError{
				1,
				fmt.Sprintf("the front matter is longer than %d KiB, or does not end with ---", maxFront>>10),
			}
		}
	}
	return front, text, &frontError{1, "the front matter does not end with a line ---"}
}

// frontParser reads the part of YAML that is used in front matter: mappings and lists
// by indentation, texts that are plain, quoted or in blocks, and lists and mappings in
// brackets. Every scalar is text. There are no anchors, aliases or tags: their signs
// are text as well.
type frontParser struct {
	lines []string
	at    int // the next line
	nodes int
}

func (p *frontParser) fail(format string, args ...any) error {
	return &frontError{min(p.at, len(p.lines)-1) + 2, fmt.Sprintf(format, args...)} // "---" is line 1
}

func (p *frontParser) document() (node, error) {
	indent, _, ok := p.peek()
	if !ok {
		return node{kind: mapNode}, nil
	}
	n, err := p.block(indent, 0)
	if err != nil {
		return node{}, err
	}
	if _, _, more := p.peek(); more {
		return node{}, p.fail("is indented less than the lines above")
	}
	if n.kind != mapNode {
		p.at = 0
		return node{}, p.fail("front matter is lines of KEY: VALUE")
	}
	return n, nil
}

// peek returns the next line that is not empty or a comment: its indentation, and the
// rest.
func (p *frontParser) peek() (indent int, text string, ok bool) {
	for ; p.at < len(p.lines); p.at++ {
		line := strings.TrimRight(p.lines[p.at], " \t\r")
		text = strings.TrimLeft(line, " ")
		if text != "" && text[0] != '#' {
			return len(line) - len(text), text, true
		}
	}
	return 0, "", false
}

// block reads a mapping or list whose lines have this indentation.
func (p *frontParser) block(indent, depth int) (node, error) {
	if depth > maxNest {
		return node{}, p.fail("is nested too deeply")
	}
	if _, text, _ := p.peek(); isItem(text) {
		return p.items(indent, depth)
	}
	return p.mapping(indent, depth)
}

func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

func (p *frontParser) mapping(indent, depth int) (node, error) {
	n := node{kind: mapNode}
	for {
		in, text, ok := p.peek()
		if !ok || in < indent {
			return n, nil
		}
		switch {
		case text[0] == '\t':
			return n, p.fail("is indented with a tab; write blanks")
		case in > indent:
			return n, p.fail("is indented more than the line above")
		case isItem(text):
			return n, p.fail("is an item of a list where KEY: VALUE should be")
		}
		key, rest, ok := splitKey(text)
		if !ok {
			return n, p.fail("is not KEY: VALUE")
		}
		if _, twice := n.get(key); twice {
			return n, p.fail("duplicate key %q", oneLine(key, maxName))
		}
		v, err := p.value(rest, indent, depth)
		if err != nil {
			return n, err
		}
		n.fields = append(n.fields, field{key, v})
	}
}

func (p *frontParser) items(indent, depth int) (node, error) {
	n := node{kind: listNode}
	for {
		in, text, ok := p.peek()
		if !ok || in < indent || in == indent && !isItem(text) {
			return n, nil
		}
		if in > indent {
			return n, p.fail("is indented more than the line above")
		}
		rest := strings.TrimLeft(text[1:], " ")
		var v node
		var err error
		if _, _, isKey := splitKey(rest); isKey || isItem(rest) {
			inner := in + len(text) - len(rest)
			p.lines[p.at] = strings.Repeat(" ", inner) + rest
			v, err = p.block(inner, depth+1)
		} else {
			v, err = p.value(rest, indent, depth)
		}
		if err != nil {
			return n, err
		}
		n.list = append(n.list, v)
	}
}

// splitKey splits KEY: VALUE.
func splitKey(text string) (key, rest string, ok bool) {
	if text == "" {
		return "", "", false
	}
	if q := text[0]; q == '"' || q == '\'' {
		key, after, ok := quoted(text)
		if rest, is := strings.CutPrefix(strings.TrimLeft(after, " "), ":"); ok && is &&
			(rest == "" || rest[0] == ' ') {
			return key, strings.TrimSpace(rest), true
		}
		return "", "", false
	}
	i := strings.Index(text, ": ")
	if i < 0 {
		if i = len(text) - 1; text[i] != ':' {
			return "", "", false
		}
	}
	if key = strings.TrimSpace(text[:i]); key == "" || strings.ContainsRune("[{|>", rune(key[0])) ||
		strings.Contains(key, " #") {
		return "", "", false
	}
	return key, strings.TrimSpace(text[i+1:]), true
}

// value reads the value after "KEY:" or "-" in the line at p.at, and in the lines that
// belong to it. indent is that of the key or the dash.
func (p *frontParser) value(rest string, indent, depth int) (node, error) {
	if p.nodes++; p.nodes > maxNodes {
		return node{}, p.fail("there are more than %d values", maxNodes)
	}
	item := isItem(strings.TrimLeft(p.lines[p.at], " "))
	if rest == "" || rest[0] == '#' {
		p.at++
		in, text, ok := p.peek()
		switch {
		case ok && in > indent:
			if _, _, isKey := splitKey(text); isKey || isItem(text) {
				return p.block(in, depth+1)
			}
			return p.plain("", indent), nil
		case ok && in == indent && isItem(text) && !item:
			return p.block(in, depth+1)
		}
		return node{}, nil
	}
	switch rest[0] {
	case '|', '>':
		if blockHeader(rest) {
			p.at++
			return p.blockText(rest[0] == '>', indent), nil
		}
	case '"', '\'', '[', '{':
		if v, lines, ok := flow(rest, p.following(indent)); ok {
			p.at += lines
			return v, nil
		}
	}
	p.at++
	return p.plain(rest, indent), nil
}

// following returns the lines after the current one that are indented more, or that
// close a bracket, up to the first other line.
func (p *frontParser) following(indent int) []string {
	i := p.at + 1
	for ; i < len(p.lines); i++ {
		text := strings.TrimLeft(p.lines[i], " ")
		if text != "" && len(p.lines[i])-len(text) <= indent && text[0] != ']' && text[0] != '}' {
			break
		}
	}
	return p.lines[p.at+1 : i]
}

// plain reads a text without quotes: its first line, and the lines below that are
// indented more than its key. An empty line separates paragraphs.
func (p *frontParser) plain(first string, indent int) node {
	var b strings.Builder
	b.WriteString(withoutComment(first))
	parted := b.Len() == 0
	for ; p.at < len(p.lines); p.at++ {
		text := strings.TrimSpace(p.lines[p.at])
		if text == "" {
			if b.Len() > 0 {
				b.WriteByte('\n')
				parted = true
			}
			continue
		}
		if len(p.lines[p.at])-len(strings.TrimLeft(p.lines[p.at], " ")) <= indent {
			break
		}
		if text[0] == '#' {
			continue
		}
		if !parted {
			b.WriteByte(' ')
		}
		parted = false
		b.WriteString(withoutComment(text))
	}
	return node{text: strings.TrimSpace(b.String())}
}

func withoutComment(s string) string {
	if i := strings.Index(s, " #"); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSpace(s)
}

func blockHeader(s string) bool {
	s = withoutComment(s)
	return len(s) <= 3 && strings.Trim(s[1:], "+-123456789") == ""
}

// blockText reads the lines of a block: literal, or folded. Empty lines at the end are
// left out.
func (p *frontParser) blockText(fold bool, indent int) node {
	var b strings.Builder
	own, gap, deeper := -1, 0, false
	for ; p.at < len(p.lines); p.at++ {
		line := strings.TrimRight(p.lines[p.at], " \t\r")
		text := strings.TrimLeft(line, " ")
		if text == "" {
			gap++
			continue
		}
		in := len(line) - len(text)
		if in <= indent {
			break
		}
		if own < 0 {
			own = in
		}
		in = max(in-own, 0)
		more := in > 0 || text[0] == '\t'
		if b.Len() > 0 {
			switch {
			case !fold || more || deeper:
				b.WriteString(strings.Repeat("\n", gap+1))
			case gap > 0:
				b.WriteString(strings.Repeat("\n", gap))
			default:
				b.WriteByte(' ')
			}
		}
		gap, deeper = 0, more
		b.WriteString(strings.Repeat(" ", in) + text)
	}
	return node{text: b.String()}
}
