package eca_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The files of testdata/documents hold the shapes of messages in the protocol's documents: a line
// for each method, and the interfaces as written there.

// document is one of the documents.
type document struct {
	name    string
	methods []docMethod
	types   map[string]*shape
	seen    map[string]bool // rows that a message has shown
}

// docMethod is a method; result is nil for a notification.
type docMethod struct {
	ours           bool // sent by the server
	name           string
	params, result *shape
}

// shape is a type: one of its fields determines its kind.
type shape struct {
	name    string            // of another type, or string, number, boolean, any, null, integer
	literal string            // only this text
	list    *shape            // a list of these
	fields  []docField        // an object
	values  *shape            // an object of any names with these
	union   []*shape          // one of these
	inside  string            // the interface that contains it
	deviate map[string]*shape // for fields of an interface: the shape that is served instead
}

type docField struct {
	name     string
	optional bool
	shape    *shape
}

func readDocument(t *testing.T, name string) *document {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "documents", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{name: name, types: map[string]*shape{}, seen: map[string]bool{}}
	p := &docParser{t: t, tokens: docTokens(string(text))}
	for len(p.tokens) > 0 {
		switch word := p.next(); word {
		case "export":
		case "method":
			m := docMethod{ours: p.next() == "<"}
			for p.peek() != ":" {
				m.name += p.next()
			}
			p.want(":")
			m.params = p.shape(m.name)
			if p.peek() == "-" {
				p.want("-")
				p.want(">")
				m.result = p.shape(m.name)
			}
			d.methods = append(d.methods, m)
		case "interface":
			name := p.next()
			d.types[name] = p.shape(name)
		case "type":
			name := p.next()
			p.want("=")
			d.types[name] = p.shape(name)
			if p.peek() == ";" {
				p.next()
			}
		default:
			t.Fatalf("%s: unexpected %q", d.name, word)
		}
	}
	return d
}

// docTokens splits a document into names, quoted texts and single signs.
func docTokens(text string) (tokens []string) {
	name := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '/' || r == '$'
	}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		n := strings.IndexFunc(text, func(r rune) bool { return !name(r) })
		switch {
		case text[0] == '\'' || text[0] == '"':
			n = strings.IndexByte(text[1:], text[0]) + 2
		case n == 0:
			n = 1
		case n < 0:
			n = len(text)
		}
		tokens = append(tokens, text[:n])
		text = text[n:]
	}
	return tokens
}

type docParser struct {
	t      *testing.T
	tokens []string
}

func (p *docParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *docParser) next() string {
	p.t.Helper()
	if len(p.tokens) == 0 {
		p.t.Fatal("the document ends too soon")
	}
	word := p.tokens[0]
	p.tokens = p.tokens[1:]
	return word
}

func (p *docParser) want(sign string) {
	p.t.Helper()
	if got := p.next(); got != sign {
		p.t.Fatalf("got %q, want %q before %q", got, sign, p.tokens[:min(len(p.tokens), 5)])
	}
}

// shape reads a type. The documents write a list that is not empty as [T].
func (p *docParser) shape(inside string) *shape {
	p.t.Helper()
	if p.peek() == "|" {
		p.next()
	}
	s := p.single(inside)
	for p.peek() == "[" {
		p.next()
		p.want("]")
		s = &shape{list: s, inside: inside}
	}
	if p.peek() != "|" {
		return s
	}
	p.next()
	rest := p.shape(inside)
	if rest.union == nil {
		rest = &shape{union: []*shape{rest}, inside: inside}
	}
	return &shape{union: append([]*shape{s}, rest.union...), inside: inside}
}

func (p *docParser) single(inside string) *shape {
	p.t.Helper()
	switch word := p.next(); {
	case word == "[":
		s := &shape{list: p.shape(inside), inside: inside}
		p.want("]")
		return s
	case word == "{":
		return p.object(inside)
	case word == "Record":
		p.want("<")
		p.want("string")
		p.want(",")
		s := &shape{values: p.shape(inside), inside: inside}
		p.want(">")
		return s
	case word[0] == '\'' || word[0] == '"':
		return &shape{literal: word[1 : len(word)-1], inside: inside}
	default:
		return &shape{name: word, inside: inside}
	}
}

func (p *docParser) object(inside string) *shape {
	p.t.Helper()
	s := &shape{fields: []docField{}, inside: inside}
	for p.peek() != "}" {
		name := p.next()
		if name == "[" { // [key: string]: T
			for p.next() != "]" {
			}
			p.want(":")
			s = &shape{values: p.shape(inside), inside: inside}
		} else {
			f := docField{name: name}
			if p.peek() == "?" {
				p.next()
				f.optional = true
			}
			p.want(":")
			f.shape = p.shape(inside + "." + name)
			s.fields = append(s.fields, f)
		}
		if sign := p.peek(); sign == ";" || sign == "," {
			p.next()
		}
	}
	p.want("}")
	return s
}

// deviate makes the checks use another type for a field, "TYPE.FIELD TYPE".
func (d *document) deviate(t *testing.T, text string) {
	t.Helper()
	where, as, ok := strings.Cut(text, " ")
	name, field, _ := strings.Cut(where, ".")
	s := d.types[name]
	if !ok || s == nil {
		t.Fatalf("%s: not a deviation: %q", d.name, text)
	}
	to := (&docParser{t: t, tokens: docTokens(as)}).shape(where)
	if field == "" { // the deviation may be in the type itself
		if s.union == nil {
			was := *s
			*s = shape{name: s.name, union: []*shape{&was}}
		}
		s.union = append(s.union, to)
		return
	}
	if s.deviate == nil {
		s.deviate = map[string]*shape{}
	}
	s.deviate[field] = to
}

// check lists the faults of a value at a path.
func (d *document) check(s *shape, v any, path string) (wrong []string) {
	say := func(want string) []string {
		raw, _ := json.Marshal(v)
		return []string{fmt.Sprintf("%s: want %s, got %.100s", path, want, raw)}
	}
	switch {
	case s.union != nil:
		return d.checkUnion(s, v, path)
	case s.literal != "":
		if v != any(s.literal) {
			return say(fmt.Sprintf("%q", s.literal))
		}
		d.seen[strings.TrimSuffix(s.inside, ".")+"="+s.literal] = true
	case s.list != nil:
		list, ok := v.([]any)
		if !ok {
			return say("a list")
		}
		for i, e := range list {
			wrong = append(wrong, d.check(s.list, e, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case s.values != nil:
		m, ok := v.(map[string]any)
		if !ok {
			return say("an object")
		}
		for k, e := range m {
			wrong = append(wrong, d.check(s.values, e, path+"."+k)...)
		}
	case s.fields != nil:
		return d.checkObject(s, v, path)
	default:
		return d.checkNamed(s, v, path, say)
	}
	return wrong
}

func (d *document) checkNamed(s *shape, v any, path string, say func(string) []string) []string {
	ok := true
	switch s.name {
	case "any":
	case "null":
		ok = v == nil
	case "string":
		_, ok = v.(string)
	case "number":
		_, ok = v.(float64)
	case "integer":
		n, is := v.(float64)
		ok = is && n == float64(int64(n))
	case "boolean":
		_, ok = v.(bool)
	default:
		to := d.types[s.name]
		if to == nil {
			return say("the type " + s.name + ", which the document does not have")
		}
		return d.check(to, v, path)
	}
	if !ok {
		return say(s.name)
	}
	return nil
}

// checkObject accepts fields that the document does not have.
func (d *document) checkObject(s *shape, v any, path string) (wrong []string) {
	m, ok := v.(map[string]any)
	if !ok {
		raw, _ := json.Marshal(v)
		return []string{fmt.Sprintf("%s: want an object, got %.100s", path, raw)}
	}
	for _, f := range s.fields {
		e, there := m[f.name]
		if !there {
			if !f.optional {
				wrong = append(wrong, fmt.Sprintf("%s: there is no %s", path, f.name))
			}
			continue
		}
		is := f.shape
		if to := s.deviate[f.name]; to != nil {
			is = to
		}
		d.seen[s.inside+"."+f.name] = true
		wrong = append(wrong, d.check(is, e, path+"."+f.name)...)
	}
	return wrong
}

// checkUnion lists the faults with respect to the nearest member.
func (d *document) checkUnion(s *shape, v any, path string) []string {
	var nearest []string
	best := -1
	for _, u := range s.union {
		seen := d.seen
		d.seen = map[string]bool{}
		wrong := d.check(u, v, path)
		now := d.seen
		if d.seen = seen; len(wrong) == 0 {
			for row := range now {
				d.seen[row] = true
			}
			return nil
		}
		fit := 0
		if to := d.types[u.name]; to != nil && !slices.ContainsFunc(wrong, func(w string) bool { return strings.HasPrefix(w, path+".type:") }) {
			fit = 1
		}
		if fit > best {
			best, nearest = fit, wrong
		}
	}
	if best < 1 {
		raw, _ := json.Marshal(v)
		return []string{fmt.Sprintf("%s: none of the %d alternatives is like %.200s", path, len(s.union), raw)}
	}
	return nearest
}

// method finds a method; nil: the document does not have it.
func (d *document) method(name string) *docMethod {
	for i := range d.methods {
		if d.methods[i].name == name {
			return &d.methods[i]
		}
	}
	return nil
}

// rows lists the methods of the document, and their fields and words.
func (d *document) rows() (rows []string) {
	for _, m := range d.methods {
		rows = append(rows, m.name)
		done := map[string]bool{}
		rows = append(rows, d.rowsOf(m.params, done)...)
		if m.result != nil {
			rows = append(rows, d.rowsOf(m.result, done)...)
		}
	}
	slices.SortFunc(rows, func(a, b string) int {
		return cmp.Compare(a, b)
	})
	return slices.Compact(rows)
}

func (d *document) rowsOf(s *shape, done map[string]bool) (rows []string) {
	switch {
	case s.literal != "":
		return []string{s.inside + "=" + s.literal}
	case s.list != nil:
		return d.rowsOf(s.list, done)
	case s.values != nil:
		return d.rowsOf(s.values, done)
	}
	for _, u := range s.union {
		rows = append(rows, d.rowsOf(u, done)...)
	}
	for _, f := range s.fields {
		rows = append(rows, s.inside+"."+f.name)
		rows = append(rows, d.rowsOf(f.shape, done)...)
	}
	if to := d.types[s.name]; to != nil && !done[s.name] {
		done[s.name] = true
		rows = append(rows, d.rowsOf(to, done)...)
	}
	return rows
}
