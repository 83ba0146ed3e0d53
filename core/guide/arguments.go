package guide

import (
	"strconv"
	"strings"

	"dragoman/core"
)

const maxArguments = 32

// arguments derives the arguments of a command from its placeholders: the named ones
// in the order of their first use, else one for each position, else one for all. Front
// matter adds descriptions, and names to positions. Clients should ask for required
// arguments; those in must, which front matter requires, are necessary for a prompt.
func arguments(body string, front node) (list []core.Argument, must map[int]bool) {
	var named, positions []core.Argument
	seen := map[string]bool{}
	all := false
	for _, p := range pieces(body) {
		switch p.kind {
		case literalPiece:
		case allPiece:
			all = true
		case positionPiece:
			for len(positions) < p.n {
				positions = append(positions, core.Argument{Name: "arg" + strconv.Itoa(len(positions)+1), Required: true})
			}
		case namedPiece:
			if !seen[p.text] && len(named) < maxArguments {
				seen[p.text] = true
				named = append(named, core.Argument{Name: p.text, Required: true})
			}
		}
	}
	list = named
	if len(list) == 0 {
		list = positions
	}
	if len(list) == 0 && all {
		list = []core.Argument{
			{Name: "arguments", Description: oneLine(front.first("argument-hint").string(), maxDescription)},
		}
	}
	declared := front.first("arguments")
	must = map[int]bool{}
	for i, d := range declared.list {
		name := d.first("name").string()
		if d.kind == textNode { // a bare name
			name = d.string()
		}
		at := i
		if len(named) > 0 {
			for at = range named {
				if named[at].Name == name {
					break
				}
			}
			if named[at].Name != name {
				continue
			}
		}
		if at < len(list) {
			list[at] = declare(list[at], d, name)
			must[at] = d.first("required").bool(false)
		}
	}
	return list, must
}

// declare applies the name, description and requirement of an argument in front
// matter.
func declare(a core.Argument, d node, name string) core.Argument {
	if name != "" && badName(name) == "" {
		a.Name = nameOf(name)
	}
	if s := d.first("description").string(); s != "" {
		a.Description = oneLine(s, maxDescription)
	}
	a.Required = d.first("required").bool(a.Required)
	return a
}

// splitArgs splits a command's arguments like a shell: at blanks outside of quotes. An
// apostrophe within a word, an unclosed quote and a backslash before an ordinary
// character are text.
func splitArgs(s string) []string {
	p := &argSplitter{s: s, double: strings.LastIndexByte(s, '"'), single: -1}
	for i := len(s) - 1; i >= 0 && p.single < 0; i-- {
		if s[i] == '\'' && p.ends(i+1) {
			p.single = i
		}
	}
	var words []string
	for {
		for p.at < len(s) && isBlank(s[p.at]) {
			p.at++
		}
		if p.at == len(s) {
			return words
		}
		words = append(words, p.word())
	}
}

type argSplitter struct {
	s      string
	at     int
	single int // the last position where a text in apostrophes can end
	double int // the same for quotes
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// ends reports whether a word ends at i.
func (p *argSplitter) ends(i int) bool { return i == len(p.s) || isBlank(p.s[i]) }

func (p *argSplitter) word() string {
	var b strings.Builder
	for begin := p.at; !p.ends(p.at); {
		switch c := p.s[p.at]; {
		case c == '\\' && p.at+1 < len(p.s) && strings.IndexByte("\"'\\ ", p.s[p.at+1]) >= 0:
			b.WriteByte(p.s[p.at+1])
			p.at += 2
		case c == '\'' && p.at == begin && p.single > p.at:
			p.at++
			from := p.at
			for p.s[p.at] != '\'' || !p.ends(p.at+1) {
				p.at++
			}
			b.WriteString(p.s[from:p.at])
			p.at++
		case c == '"' && p.double > p.at:
			p.at++
			p.quoted(&b)
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	return b.String()
}

// quoted reads up to a quote, or to the end if all further quotes are escaped.
func (p *argSplitter) quoted(b *strings.Builder) {
	for p.at < len(p.s) {
		c := p.s[p.at]
		p.at++
		if c == '"' {
			return
		}
		if c == '\\' && p.at < len(p.s) && (p.s[p.at] == '"' || p.s[p.at] == '\\') {
			c = p.s[p.at]
			p.at++
		}
		b.WriteByte(c)
	}
}
