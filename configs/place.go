package configs

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// begin writes the first setting of a file that holds none.
func (t *source) begin(item setting) error {
	f := t.form()
	text := f.block(tree{item}, "")
	if t.body != nil {
		return errShape // a lone null
	}
	return t.splice(len(t.text), len(t.text), t.apart(len(t.text), f.eol)+text)
}

// apart is what comes in front of a new section: the end of the last line, and an
// empty one where the file has such.
func (t *source) apart(at int, eol string) string {
	text := t.text[:at]
	gap := ""
	if text != "" && !strings.HasSuffix(text, "\n") {
		gap = eol
	}
	if strings.Contains(strings.TrimRight(text, "\r\n"), eol+eol) && !strings.HasSuffix(text, eol+eol) {
		gap += eol
	}
	return gap
}

// insert writes a setting behind the others of a mapping.
func (t *source) insert(way []step, item setting) error {
	last := way[len(way)-1]
	if last.in.IsFlowStyle {
		if n := len(way) - 1; n > 0 && len(last.in.Values) == 0 && !way[n-1].in.IsFlowStyle &&
			t.fill(way[:n], tree{item}) == nil {
			return nil
		}
		return t.insertFlow(last.in, item)
	}
	first, err := t.keyAt(last.in.Values[0])
	if err != nil || !t.leads(first) {
		return errShape
	}
	end, err := t.end(way, t.margin(way[:len(way)-1]))
	if err != nil {
		return err
	}
	f := t.form()
	text := f.block(tree{item}, t.text[t.lineStart(first):first])
	switch {
	case len(way) == 1:
		text = t.apart(end, f.eol) + text
	case end > 0 && t.text[end-1] != '\n':
		text = f.eol + text
	}
	return t.splice(end, end, text)
}

// margin is how far a comment must be indented to belong to what is below the last
// pair of a way: further than its key.
func (t *source) margin(way []step) int {
	if len(way) == 0 {
		return -1
	}
	last := way[len(way)-1]
	return last.in.Values[last.pair].Key.GetToken().Position.Column - 1
}

// end is the offset of the line behind a block: where the next key or document
// begins, less the empty lines and the comments in front of it that are not indented
// further than margin.
func (t *source) end(way []step, margin int) (int, error) {
	end := len(t.text)
	from := 0
	for i := len(way) - 1; i >= 0; i-- {
		s := way[i]
		if s.pair < 0 {
			s.pair = len(s.in.Values) - 1
		}
		at, err := t.keyAt(s.in.Values[s.pair])
		if err != nil {
			return 0, err
		}
		from = max(from, at)
		if s.pair+1 < len(s.in.Values) {
			next, err := t.offset(start(s.in.Values[s.pair+1]))
			if err != nil || !t.leads(next) {
				return 0, errShape
			}
			end = t.lineStart(next)
			break
		}
	}
	for at := t.lineEnd(from); at < end; at = t.lineEnd(at) {
		if strings.HasPrefix(t.text[at:], "---") || strings.HasPrefix(t.text[at:], "...") {
			end = at
		}
	}
	for least := t.lineEnd(from); end > least; {
		line := t.lineStart(end - 1)
		word := strings.TrimLeft(t.text[line:end], " \t")
		indent := len(t.text[line:end]) - len(word)
		if word = strings.TrimRight(word, "\r\n"); word != "" && (word[0] != '#' || indent > margin) {
			break
		}
		end = line
	}
	return end, nil
}

// lines is the range of whole lines that a pair of a block takes.
func (t *source) lines(way []step) (a, b int, err error) {
	last := way[len(way)-1]
	at, err := t.keyAt(last.in.Values[last.pair])
	if err != nil || !t.leads(at) {
		return 0, 0, errShape
	}
	b, err = t.end(way, t.margin(way))
	return t.lineStart(at), b, err
}

// replace gives a setting another value.
func (t *source) replace(way []step, item setting) error {
	last := way[len(way)-1]
	key, err := t.keyAt(last.in.Values[last.pair])
	if err != nil {
		return err
	}
	f := t.form()
	a, b, whole := t.valueRange(last.value())
	if whole && (last.in.IsFlowStyle || t.lineStart(a) == t.lineStart(key)) {
		line := t.text[t.lineStart(key):]
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		return t.splice(a, b, f.inline(item.value, indent))
	}
	if last.in.IsFlowStyle {
		return errShape
	}
	a, b, err = t.lines(way)
	if err != nil {
		return err
	}
	text := f.block(tree{item}, t.text[a:key])
	if b == len(t.text) && !strings.HasSuffix(t.text, "\n") {
		text = strings.TrimSuffix(text, f.eol)
	}
	return t.splice(a, b, text)
}

// fill writes the first settings below a key that has no value.
func (t *source) fill(way []step, items tree) error {
	last := way[len(way)-1]
	pair := last.in.Values[last.pair]
	at, err := t.afterColon(pair)
	if err != nil {
		return err
	}
	f := t.form()
	rest := strings.TrimLeft(t.text[at:t.lineEnd(at)], " \t")
	from := t.lineEnd(at) - len(rest)
	to := from
	for _, word := range []string{"~", "null", "Null", "NULL", "{}"} {
		if strings.HasPrefix(rest, word) {
			to = from + len(word)
		}
	}
	if last.in.IsFlowStyle {
		if to == from {
			from, to = at, at
			return t.splice(from, to, " "+f.inline(items, ""))
		}
		return t.splice(from, to, f.inline(items, ""))
	}
	if after := strings.TrimLeft(t.text[to:t.lineEnd(to)], " \t\r\n"); after != "" && after[0] != '#' {
		return errShape
	}
	_, end, err := t.lines(way)
	if err != nil {
		return err
	}
	key, _ := t.keyAt(pair)
	text := f.block(items, t.text[t.lineStart(key):key]+f.step)
	if t.text[end-1] != '\n' {
		text = f.eol + text
	}
	if to > from { // the explicit nothing goes
		text = t.text[to:end] + text
		from = at
	} else {
		from = end
	}
	return t.splice(from, end, text)
}

// insertFlow writes a setting in front of a closing brace.
func (t *source) insertFlow(m *ast.MappingNode, item setting) error {
	a, b, ok := t.valueRange(m)
	if !ok {
		return errShape
	}
	f, closing := t.form(), b-1
	line := t.text[t.lineStart(closing):closing]
	margin := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	text := func(indent string) string { return f.word(item.key) + ": " + f.inline(item.value, indent) }
	if len(m.Values) == 0 {
		if strings.TrimSpace(t.text[a+1:closing]) != "" {
			return errShape // comments
		}
		if f.json {
			return t.splice(a+1, closing, f.eol+margin+f.step+text(margin+f.step)+f.eol+margin)
		}
		return t.splice(a+1, closing, text(margin))
	}
	before := m.Values[len(m.Values)-1]
	key, err := t.keyAt(before)
	if err != nil {
		return err
	}
	_, end, ok := t.valueRange(before.Value)
	if !ok {
		return errShape
	}
	comma := ","
	if next := t.skip(end, " \t\r\n"); t.text[next] == ',' {
		comma, end = "", next+1
	}
	if t.leads(closing) && t.leads(key) {
		indent := t.text[t.lineStart(key):key]
		text := indent + text(indent) + f.eol
		if comma == "" {
			text = indent + f.word(item.key) + ": " + f.inline(item.value, indent) + "," + f.eol
		}
		at := t.lineStart(closing)
		return t.splice(end, at, comma+t.text[end:at]+text)
	}
	if strings.TrimSpace(t.text[end:closing]) != "" {
		return errShape // comments
	}
	return t.splice(end, end, comma+" "+text(margin))
}

// cutFlow removes a pair that stands in braces.
func (t *source) cutFlow(s step) error {
	m, i := s.in, s.pair
	a, err := t.keyAt(m.Values[i])
	if err != nil {
		return err
	}
	_, b, ok := t.valueRange(m.Values[i].Value)
	if !ok {
		return errShape
	}
	open, closing, ok := t.valueRange(m)
	if !ok {
		return errShape
	}
	comma := t.skip(b, " \t\r\n")
	hasComma := t.text[comma] == ','
	switch {
	case len(m.Values) == 1 && !strings.Contains(t.text[open:a]+t.text[b:closing], "#"):
		return t.splice(open+1, closing-1, "")
	case i+1 < len(m.Values) && !hasComma:
		return errShape
	case i > 0 && i+1 == len(m.Values):
		_, before, ok := t.valueRange(m.Values[i-1].Value)
		if ok && !strings.Contains(t.text[before:a], "#") {
			if t.leads(a) {
				b = t.withComment(b)
			}
			return t.splice(before, b, "")
		}
	}
	if hasComma {
		b = comma + 1
	}
	if !t.leads(a) {
		return t.splice(a, t.skip(b, " \t"), "")
	}
	if end := t.withComment(b); strings.Trim(t.text[end:t.lineEnd(end)], "\r\n") == "" {
		return t.splice(t.lineStart(a), t.lineEnd(end), "")
	}
	return t.splice(a, t.skip(b, " \t"), "")
}

// withComment is the end of what follows on the same line, if that is a comment.
func (t *source) withComment(at int) int {
	rest := strings.TrimRight(t.text[at:t.lineEnd(at)], "\r\n")
	if word := strings.TrimLeft(rest, " \t"); word == "" || word[0] == '#' {
		return at + len(rest)
	}
	return at
}
