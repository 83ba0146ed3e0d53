package guide

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

const maxPattern = 256 // bytes of a glob, or of a regular expression

// glob translates a glob over paths with slashes, relative to a workspace folder,
// into a regular expression, which matches in linear time. * and ? stay within a
// name, ** does not; "**/" may stand for no folder at all; [a-z], [!a] and {a,b}
// are known. A glob without a slash is for names in any folder, one that ends in
// a slash for all that the folder holds.
func glob(pattern string) (*regexp.Regexp, error) {
	p := strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	switch {
	case len(p) > maxPattern:
		return nil, fmt.Errorf("it is longer than %d bytes", maxPattern)
	case p == "":
		return nil, errors.New("it is empty")
	case p[0] == '!':
		return nil, errors.New("! at the start excludes nothing here")
	}
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	t := &globTranslator{rest: p}
	t.out.WriteString(`(?s)\A`)
	if !strings.Contains(p, "/") {
		t.out.WriteString(`(?:.*/)?`)
	}
	if err := t.all(); err != nil {
		return nil, err
	}
	t.out.WriteString(`\z`)
	return regexp.Compile(t.out.String())
}

type globTranslator struct {
	out   strings.Builder
	rest  string
	start bool // at the start of a name
	open  int  // braces
}

func (t *globTranslator) all() error {
	t.start = true
	for t.rest != "" {
		start := t.start
		c := t.next()
		t.start = c == "/"
		switch c {
		case "*":
			t.star(start)
		case "?":
			t.out.WriteString(`[^/]`)
		case "[":
			if err := t.class(); err != nil {
				return err
			}
		case "{":
			t.open++
			t.start = start
			t.out.WriteString(`(?:`)
		case "}", ",":
			t.brace(c)
		case `\`:
			if t.rest == "" {
				return errors.New("it ends in a backslash")
			}
			t.out.WriteString(regexp.QuoteMeta(t.next()))
		default:
			t.out.WriteString(regexp.QuoteMeta(c))
		}
	}
	if t.open > 0 {
		return errors.New("a { is not closed")
	}
	return nil
}

// next takes a character.
func (t *globTranslator) next() string {
	_, n := utf8.DecodeRuneInString(t.rest)
	c := t.rest[:n]
	t.rest = t.rest[n:]
	return c
}

func (t *globTranslator) star(start bool) {
	if !strings.HasPrefix(t.rest, "*") {
		t.out.WriteString(`[^/]*`)
		return
	}
	t.rest = strings.TrimLeft(t.rest, "*")
	if after, ok := strings.CutPrefix(t.rest, "/"); ok && start {
		t.rest, t.start = after, true
		t.out.WriteString(`(?:.*/)?`)
		return
	}
	t.out.WriteString(`.*`)
}

func (t *globTranslator) brace(c string) {
	switch {
	case t.open == 0:
		t.out.WriteString(regexp.QuoteMeta(c))
	case c == "}":
		t.open--
		t.out.WriteString(`)`)
	default:
		t.start = true
		t.out.WriteString(`|`)
	}
}

func (t *globTranslator) class() error {
	body, after, ok := strings.Cut(t.rest, "]")
	if body == "" && ok { // a ] that stands first belongs to the class
		body, after, ok = strings.Cut(after, "]")
		body = "]" + body
	}
	if !ok || body == "" || body == "!" || body == "^" {
		return errors.New("a [ is not closed")
	}
	t.rest = after
	not := ""
	if body[0] == '!' || body[0] == '^' {
		not, body = "^/", body[1:]
	}
	t.out.WriteString("[" + not + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`).Replace(body) + "]")
	return nil
}
