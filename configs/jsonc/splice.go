package jsonc

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"dragoman/core/jsonscan"
)

// Replacement is a new text for a piece of a text.
type Replacement struct {
	from, to int
	with     string
}

// Apply returns the text with pieces replaced. They do not overlap.
func (t *Text) Apply(cuts []Replacement) []byte {
	slices.SortStableFunc(cuts, func(a, b Replacement) int { return a.from - b.from })
	out, at := []byte(t.mark), 0
	for _, c := range cuts {
		out = append(append(out, t.Data[at:c.from]...), c.with...)
		at = c.to
	}
	return append(out, t.Data[at:]...)
}

// item is a member of an object or an element of a list.
type item struct {
	from, to int
	comma    int // the offset of the comma after it; -1: none
}

// itemsOf lists the items of an object or a list.
func itemsOf(v hujson.Value) (items []item) {
	add := func(from, last hujson.Value, isLast bool) {
		i := item{from.StartOffset, last.EndOffset, last.EndOffset + len(last.AfterExtra)}
		if isLast && last.AfterExtra == nil {
			i.comma = -1
		}
		items = append(items, i)
	}
	switch is := v.Value.(type) {
	case *hujson.Object:
		for n, m := range is.Members {
			add(m.Name, m.Value, n+1 == len(is.Members))
		}
	case *hujson.Array:
		for n, e := range is.Elements {
			add(e, e, n+1 == len(is.Elements))
		}
	}
	return items
}

func (t *Text) lineStart(at int) int { return bytes.LastIndexByte(t.Data[:at], '\n') + 1 }

// margin returns the space at the beginning of the line of an offset.
func (t *Text) margin(at int) string {
	line := t.Data[t.lineStart(at):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// leads reports whether an offset is the first in its line that is not a space.
func (t *Text) leads(at int) bool { return len(t.margin(at)) >= at-t.lineStart(at) }

// Blank reports whether there is only space between two offsets.
func (t *Text) Blank(from, to int) bool { return len(bytes.TrimSpace(t.Data[from:to])) == 0 }

// skip returns the offset after spaces and tabs.
func (t *Text) skip(at int) int {
	return len(t.Data) - len(bytes.TrimLeft(t.Data[at:], " \t"))
}

// form returns the formatting of the text.
func (t *Text) form() form {
	f := form{eol: "\n", step: "  "}
	if bytes.Contains(t.Data, []byte("\r\n")) {
		f.eol = "\r\n"
	}
	if items := itemsOf(t.Root); len(items) > 0 && t.leads(items[0].from) {
		if step := strings.TrimPrefix(t.margin(items[0].from), t.margin(t.Root.StartOffset)); step != "" {
			f.step = step
		}
	}
	return f
}

// With appends an item to an object (a Setting) or a list (a Scalar). Nothing is removed. Without
// a root, it creates an object.
func (t *Text) With(v hujson.Value, add any) []Replacement {
	f := t.form()
	if v.Value == nil {
		gap := ""
		if n := len(t.Data); n > 0 && t.Data[n-1] != '\n' {
			gap = f.eol
		}
		return []Replacement{{len(t.Data), len(t.Data), gap + f.value(Tree{add.(Setting)}, "", true) + f.eol}}
	}
	items, closing := itemsOf(v), v.EndOffset-1
	if len(items) == 0 {
		margin := t.margin(closing)
		text := margin + f.step + f.item(add, margin+f.step, true) + f.eol
		switch _, list := add.(Scalar); {
		case list:
			return []Replacement{{closing, closing, f.item(add, "", false)}}
		case t.leads(closing):
			return []Replacement{{t.lineStart(closing), t.lineStart(closing), text}}
		}
		return []Replacement{{closing, closing, f.eol + text + margin}}
	}
	last := items[len(items)-1]
	trailing, end := "", last.to
	var cuts []Replacement
	if last.comma >= 0 {
		trailing, end = ",", last.comma+1
	} else {
		cuts = append(cuts, Replacement{last.to, last.to, ","})
	}
	switch {
	case t.leads(closing) && t.leads(last.from):
		margin, at := t.margin(last.from), t.lineStart(closing)
		return append(cuts, Replacement{at, at, margin + f.item(add, margin, true) + trailing + f.eol})
	case t.Blank(end, closing):
		return append(cuts, Replacement{end, end, " " + f.item(add, "", false) + trailing})
	}
	return append(cuts, Replacement{closing, closing, " " + f.item(add, "", false) + trailing})
}

// Without removes an item from an object or a list, and its comma. Comments stay.
func (t *Text) Without(v hujson.Value, n int) []Replacement {
	items := itemsOf(v)
	is := items[n]
	from, to := is.from, is.to
	var cuts []Replacement
	switch {
	case is.comma >= 0 && t.Blank(is.to, is.comma):
		to = is.comma + 1
	case is.comma >= 0:
		cuts = append(cuts, Replacement{is.comma, is.comma + 1, ""})
	case n > 0: // the comma before it is not needed any more
		before := items[n-1].comma
		if t.Blank(before+1, from) && !t.leads(from) {
			from = before
		} else {
			cuts = append(cuts, Replacement{before, before + 1, ""})
		}
	}
	end := t.skip(to)
	line, _, broken := bytes.Cut(t.Data[end:], []byte("\n"))
	rest := len(bytes.TrimSuffix(line, []byte("\r")))
	switch {
	case from == is.from && t.leads(from) && broken && rest == 0:
		from, to = t.lineStart(from), end+len(line)+1
	case from == is.from && rest > 0 && (is.comma >= 0 || t.leads(from)):
		to = end
	}
	return append(cuts, Replacement{from, to, ""})
}

// Replaced replaces a value by another one.
func (t *Text) Replaced(v hujson.Value, value any) []Replacement {
	_, nested := value.(Tree)
	margin := t.margin(v.StartOffset)
	return []Replacement{{v.StartOffset, v.EndOffset, t.form().value(value, margin, nested)}}
}

// form is the formatting of a part of a file.
type form struct {
	eol  string // the line ending
	step string // the indentation of each level
}

// item writes a member of an object, or an element of a list.
func (f form) item(add any, margin string, lines bool) string {
	if s, ok := add.(Setting); ok {
		return quoted(s.Key) + ": " + f.value(s.Value, margin, lines)
	}
	return f.value(add, margin, lines)
}

// value writes a value; if lines is true, an object over several lines.
func (f form) value(value any, margin string, lines bool) string {
	var b strings.Builder
	switch v := value.(type) {
	case Scalar:
		if v.Quoted {
			return quoted(v.Text)
		}
		return v.Text
	case []Scalar:
		for i, s := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoted(s.Text))
		}
		return "[" + b.String() + "]"
	case Tree:
		for i, s := range v {
			switch {
			case lines:
				b.WriteString(f.eol + margin + f.step)
			case i > 0:
				b.WriteString(" ")
			}
			b.WriteString(f.item(s, margin+f.step, lines))
			if i+1 < len(v) {
				b.WriteString(",")
			}
		}
		if lines && len(v) > 0 {
			b.WriteString(f.eol + margin)
		}
		return "{" + b.String() + "}"
	}
	return "null"
}

// Tree is a mapping to be written: settings in order.
type Tree []Setting

// Setting is a member of an object.
type Setting struct {
	Key   string
	Value any // Scalar, []Scalar or Tree
}

// Scalar is one value. A bare one (a number, true, false) has no quotes.
type Scalar struct {
	Text   string
	Quoted bool
}

// Get returns the value of a setting.
func (t Tree) Get(key string) (any, bool) {
	i := slices.IndexFunc(t, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return nil, false
	}
	return t[i].Value, true
}

// String writes a mapping over several lines.
func (t Tree) String() string { return form{eol: "\n", step: "  "}.value(t, "", true) + "\n" }

func quoted(s string) string {
	b, _ := jsonscan.Append(nil, s) // a string never fails
	return string(b)
}
