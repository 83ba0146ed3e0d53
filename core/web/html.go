package web

import (
	"errors"
	stdhtml "html"
	"io"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlText returns roughly the text that a reader of a page sees: with headings,
// lists, links and preformatted lines, without scripts, styles and forms. It reads a
// stream of tags, so endless nesting in a page costs nothing.
//
// The tokenizer only finds the tags here. Whatever decodes entities with it, Text, Token
// and TagAttr, links tables that are filled whenever the program starts; those of the
// standard library are filled when they are needed.
func htmlText(page string, base *url.URL) string {
	z := html.NewTokenizer(strings.NewReader(page))
	p := prose{base: base}
	for {
		switch t := z.Next(); t {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				p.text("[the page cannot be read any further]")
			}
			return p.done()
		case html.TextToken:
			p.text(stdhtml.UnescapeString(newlines.Replace(string(z.Raw()))))
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := string(z.Raw()) // TagName changes it
			name, _ := z.TagName()
			p.start(atom.Lookup(name), tag, t == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.end(atom.Lookup(name))
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

// prose is the text of a page while it is written.
type prose struct {
	base *url.URL
	out  strings.Builder

	hidden atom.Atom // the element that is left out, up to its end; 0: none
	deep   int       // its nesting
	pre    int       // nested preformatted parts
	blank  bool      // a blank is needed before the next word
	lines  int       // line ends at the end of out
	link   string    // the target of the open link
	at     int       // the offset of its text in out
}

// start processes a start tag. closed: it is its own end tag.
func (p *prose) start(a atom.Atom, tag string, closed bool) {
	if p.hidden != 0 {
		if a == p.hidden && !closed {
			p.deep++
		}
		return
	}
	switch a {
	case atom.Script,
		atom.Style,
		atom.Noscript,
		atom.Template,
		atom.Svg,
		atom.Iframe,
		atom.Object,
		atom.Select,
		atom.Nav:
		if !closed {
			p.hidden, p.deep = a, 1
		}
	case atom.Title, atom.H1:
		p.paragraph("# ")
	case atom.H2:
		p.paragraph("## ")
	case atom.H3:
		p.paragraph("### ")
	case atom.H4, atom.H5, atom.H6:
		p.paragraph("#### ")
	case atom.Li:
		p.newline(1)
		p.write("- ")
	case atom.Br:
		p.newline(1)
		p.lines = min(p.lines, 1)
	case atom.Pre:
		p.newline(2)
		p.pre++
		p.write("```\n")
	case atom.Td, atom.Th:
		if p.lines == 0 && p.out.Len() > 0 {
			p.write(" | ")
		}
	case atom.A:
		p.begin(tag)
	default:
		if block(a) {
			p.newline(spacing(a))
		}
	}
}

// end processes an end tag.
func (p *prose) end(a atom.Atom) {
	if p.hidden != 0 {
		if a == p.hidden {
			if p.deep--; p.deep == 0 {
				p.hidden = 0
			}
		}
		return
	}
	switch a {
	case atom.Pre:
		if p.pre > 0 {
			p.pre--
			p.newline(1)
			p.write("```")
			p.newline(2)
		}
	case atom.A:
		p.close()
	case atom.Title, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.newline(2)
	default:
		if block(a) {
			p.newline(spacing(a))
		}
	}
}

func block(a atom.Atom) bool {
	switch a {
	case atom.P,
		atom.Div,
		atom.Section,
		atom.Article,
		atom.Header,
		atom.Footer,
		atom.Main,
		atom.Aside,
		atom.Ul,
		atom.Ol,
		atom.Dl,
		atom.Dt,
		atom.Dd,
		atom.Tr,
		atom.Table,
		atom.Blockquote,
		atom.Hr,
		atom.Figure,
		atom.Figcaption,
		atom.Form,
		atom.Fieldset,
		atom.Details,
		atom.Summary,
		atom.Li,
		atom.Body:
		return true
	}
	return false
}

// spacing returns the number of line ends around a block.
func spacing(a atom.Atom) int {
	switch a {
	case atom.Tr, atom.Li, atom.Dt, atom.Dd, atom.Div:
		return 1
	}
	return 2
}

func (p *prose) paragraph(mark string) {
	p.newline(2)
	p.write(mark)
}

// newline ensures that out ends with n line ends, unless it is empty.
func (p *prose) newline(n int) {
	p.blank = false
	if p.out.Len() == 0 {
		return
	}
	for ; p.lines < n; p.lines++ {
		p.out.WriteByte('\n')
	}
}

func (p *prose) write(s string) {
	if s == "" {
		return
	}
	p.out.WriteString(s)
	rest := strings.TrimRight(s, "\n")
	if p.lines = len(s) - len(rest); rest == "" {
		p.lines = min(p.lines+1, 2)
	}
}

// text processes the text between tags.
func (p *prose) text(s string) {
	if p.hidden != 0 {
		return
	}
	if p.pre > 0 {
		p.write(s)
		return
	}
	if s != strings.TrimLeft(s, " \t\r\n\f") {
		p.blank = true
	}
	for word := range strings.FieldsSeq(s) {
		if p.blank && p.lines == 0 && p.out.Len() > 0 && !strings.HasSuffix(p.out.String()[max(0, p.out.Len()-1):], " ") {
			p.out.WriteByte(' ')
		}
		p.write(word)
		p.blank = true
	}
	if s != "" && s == strings.TrimRight(s, " \t\r\n\f") {
		p.blank = false
	}
}

// begin opens a link.
func (p *prose) begin(tag string) {
	p.close()
	target, ok := target(tag)
	if p.base == nil || !ok || strings.HasPrefix(target, "#") {
		return
	}
	if u, err := p.base.Parse(target); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		p.link, p.at = u.String(), p.out.Len()
	}
}

var (
	newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")
	// attribute matches an attribute of a tag: its name, and its value with quotation marks.
	attribute = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([^\s/>][^\s/>=]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]*))?`)
	})
	// entity matches an entity in a value, where a query like ?a=1&copy=2 has none.
	entity = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`&#?\w+;`) })
)

// target returns the target of a start tag of a link, if it has one.
func target(tag string) (to string, ok bool) {
	for _, m := range attribute().FindAllStringSubmatch(strings.TrimLeft(tag, "<aA"), -1) {
		if strings.EqualFold(m[1], "href") {
			return strings.TrimSpace(entity().ReplaceAllStringFunc(strings.Trim(m[2], `"'`), stdhtml.UnescapeString)), true
		}
	}
	return "", false
}

// close writes the target of the open link, after its text.
func (p *prose) close() {
	if p.link != "" && p.out.Len() > p.at && strings.TrimSpace(p.out.String()[p.at:]) != "" {
		p.write(" <" + p.link + ">")
	}
	p.link = ""
}

func (p *prose) done() string {
	p.close()
	return strings.TrimSpace(p.out.String()) + "\n"
}
