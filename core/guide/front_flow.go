package guide

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// flow reads a value that begins with a quote or a bracket in first and may continue
// in the following lines. used is the number of its lines, including the first. ok is
// false if it is something else after all, such as a glob.
func flow(first string, following []string) (v node, used int, ok bool) {
	if v, used, ok = flowIn(first); ok || len(following) == 0 {
		return v, used, ok
	}
	var b strings.Builder
	b.WriteString(first)
	for _, line := range following {
		if _, comment, ok := strings.Cut(line, " #"); ok && first[0] != '"' && first[0] != '\'' &&
			!strings.ContainsAny(comment, `"'`) {
			line = withoutComment(line)
		}
		b.WriteString("\n" + strings.TrimSpace(line))
	}
	return flowIn(b.String())
}

func flowIn(text string) (v node, used int, ok bool) {
	p := &flowParser{rest: text}
	if v, ok = p.value(0); !ok {
		return node{}, 0, false
	}
	taken := text[:len(text)-len(p.rest)]
	line, _, _ := strings.Cut(p.rest, "\n")
	if line = strings.TrimLeft(line, " \t"); line != "" && line[0] != '#' {
		return node{}, 0, false
	}
	return v, 1 + strings.Count(taken, "\n"), true
}

// flowParser reads texts in quotes, lists in brackets, mappings in braces.
type flowParser struct {
	rest  string
	nodes int
}

func (p *flowParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\n") }

func (p *flowParser) value(depth int) (node, bool) {
	p.space()
	if p.nodes++; p.nodes > maxNodes || depth > maxNest || p.rest == "" {
		return node{}, false
	}
	switch p.rest[0] {
	case '"', '\'':
		text, rest, ok := quoted(p.rest)
		p.rest = rest
		return node{text: text}, ok
	case '[':
		return p.list(depth)
	case '{':
		return p.mapping(depth)
	}
	if depth == 0 {
		return node{}, false
	}
	return node{text: p.word()}, true
}

// word reads a text without quotes inside of brackets. Brackets within it, as in a
// glob, belong to it.
func (p *flowParser) word() string {
	i, open := 0, 0
	for ; i < len(p.rest) && p.rest[i] != '\n' && !(open == 0 && p.colonAt(i)); i++ {
		switch c := p.rest[i]; c {
		case '{', '[':
			open++
		case '}', ']':
			open--
		}
		if open < 0 || open == 0 && p.rest[i] == ',' {
			break // out of the loop
		}
	}
	word := p.rest[:i]
	p.rest = p.rest[i:]
	return strings.TrimSpace(word)
}

func (p *flowParser) colonAt(i int) bool {
	return p.rest[i] == ':' && (i+1 == len(p.rest) || strings.ContainsRune(" \n,]}", rune(p.rest[i+1])))
}

// list reads [a, b].
func (p *flowParser) list(depth int) (node, bool) {
	n := node{kind: listNode}
	p.rest = p.rest[1:]
	for {
		if p.space(); p.rest == "" {
			return n, false
		}
		if p.rest[0] == ']' {
			p.rest = p.rest[1:]
			return n, true
		}
		v, ok := p.value(depth + 1)
		if !ok || v.kind == textNode && v.text == "" && (p.rest == "" || p.rest[0] == ',') {
			return n, false
		}
		n.list = append(n.list, v)
		if !p.comma(']') {
			return n, false
		}
	}
}

func (p *flowParser) mapping(depth int) (node, bool) {
	n := node{kind: mapNode}
	p.rest = p.rest[1:]
	for {
		if p.space(); p.rest == "" {
			return n, false
		}
		if p.rest[0] == '}' {
			p.rest = p.rest[1:]
			return n, true
		}
		key, ok := p.value(depth + 1)
		if p.space(); !ok || key.kind != textNode || key.text == "" || p.rest == "" || p.rest[0] != ':' {
			return n, false
		}
		p.rest = p.rest[1:]
		v, ok := p.value(depth + 1)
		if _, twice := n.get(key.text); !ok || twice {
			return n, false
		}
		n.fields = append(n.fields, field{key.text, v})
		if !p.comma('}') {
			return n, false
		}
	}
}

// comma reads the comma between two values; it is optional before the end.
func (p *flowParser) comma(end byte) bool {
	p.space()
	switch {
	case p.rest == "":
		return false
	case p.rest[0] == ',':
		p.rest = p.rest[1:]
		return true
	}
	return p.rest[0] == end
}

// quoted reads a text in quotes and folds its lines.
func quoted(s string) (text, rest string, ok bool) {
	q := s[0]
	var b strings.Builder
	for i := 1; i < len(s); {
		c := s[i]
		switch {
		case c == q && q == '\'' && i+1 < len(s) && s[i+1] == q:
			b.WriteByte(q)
			i += 2
		case c == q:
			return b.String(), s[i+1:], true
		case c == '\\' && q == '"':
			r, n := escape(s[i:])
			if n == 0 {
				return "", s, false
			}
			b.WriteString(r)
			i += n
		case c == '\n':
			n := len(s[i:]) - len(strings.TrimLeft(s[i:], "\n"))
			b.WriteString(strings.Repeat("\n", n-1))
			if n == 1 {
				b.WriteByte(' ')
			}
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return "", s, false
}

// escape reads an escape sequence of a text in double quotes; n is its length, 0 if
// there is none.
func escape(s string) (text string, n int) {
	if len(s) < 2 {
		return "", 0
	}
	digits := 0
	switch s[1] {
	case 'n':
		return "\n", 2
	case 't', '\t':
		return "\t", 2
	case 'r':
		return "\r", 2
	case '\n':
		return "", 2
	case '"', '\\', '/', ' ':
		return s[1:2], 2
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return "", 0
	}
	if len(s) < 2+digits {
		return "", 0
	}
	code, err := strconv.ParseUint(s[2:2+digits], 16, 32)
	if err != nil || code == 0 || !utf8.ValidRune(rune(code)) {
		return "", 0
	}
	return string(rune(code)), 2 + digits
}
