package configs

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// replacement is a new text for a piece of a text.
type replacement struct {
	from, to int
	with     string
}

// apply returns the text with pieces replaced. They do not overlap.
func (t *jsonText) apply(cuts []replacement) []byte {
	slices.SortStableFunc(cuts, func(a, b replacement) int { return a.from - b.from })
	out, at := []byte(t.mark), 0
	for _, c := range cuts {
		out = append(append(out, t.data[at:c.from]...), c.with...)
		at = c.to
	}
	return append(out, t.data[at:]...)
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

func (t *jsonText) lineStart(at int) int { return bytes.LastIndexByte(t.data[:at], '\n') + 1 }

// margin returns the space at the beginning of the line of an offset.
func (t *jsonText) margin(at int) string {
	line := t.data[t.lineStart(at):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// leads reports whether an offset is the first in its line that is not a space.
func (t *jsonText) leads(at int) bool { return len(t.margin(at)) >= at-t.lineStart(at) }

// blank reports whether there is only space between two offsets.
func (t *jsonText) blank(from, to int) bool { return len(bytes.TrimSpace(t.data[from:to])) == 0 }

// skip returns the offset after spaces and tabs.
func (t *jsonText) skip(at int) int {
	return len(t.data) - len(bytes.TrimLeft(t.data[at:], " \t"))
}

// form returns the formatting of the text.
func (t *jsonText) form() form {
	f := form{eol: "\n", step: "  "}
	if bytes.Contains(t.data, []byte("\r\n")) {
		f.eol = "\r\n"
	}
	if items := itemsOf(t.root); len(items) > 0 && t.leads(items[0].from) {
		if step := strings.TrimPrefix(t.margin(items[0].from), t.margin(t.root.StartOffset)); step != "" {
			f.step = step
		}
	}
	return f
}

// with appends an item to an object (a setting) or a list (a scalar). Nothing is removed. Without
// a root, it creates an object.
func (t *jsonText) with(v hujson.Value, add any) []replacement {
	f := t.form()
	if v.Value == nil {
		gap := ""
		if n := len(t.data); n > 0 && t.data[n-1] != '\n' {
			gap = f.eol
		}
		return []replacement{{len(t.data), len(t.data), gap + f.value(tree{add.(setting)}, "", true) + f.eol}}
	}
	items, closing := itemsOf(v), v.EndOffset-1
	if len(items) == 0 {
		margin := t.margin(closing)
		text := margin + f.step + f.item(add, margin+f.step, true) + f.eol
		switch _, list := add.(scalar); {
		case list:
			return []replacement{{closing, closing, f.item(add, "", false)}}
		case t.leads(closing):
			return []replacement{{t.lineStart(closing), t.lineStart(closing), text}}
		}
		return []replacement{{closing, closing, f.eol + text + margin}}
	}
	last := items[len(items)-1]
	trailing, end := "", last.to
	var cuts []replacement
	if last.comma >= 0 {
		trailing, end = ",", last.comma+1
	} else {
		cuts = append(cuts, replacement{last.to, last.to, ","})
	}
	switch {
	case t.leads(closing) && t.leads(last.from):
		margin, at := t.margin(last.from), t.lineStart(closing)
		return append(cuts, replacement{at, at, margin + f.item(add, margin, true) + trailing + f.eol})
	case t.blank(end, closing):
		return append(cuts, replacement{end, end, " " + f.item(add, "", false) + trailing})
	}
	return append(cuts, replacement{closing, closing, " " + f.item(add, "", false) + trailing})
}

// without removes an item from an object or a list, and its comma. Comments stay.
func (t *jsonText) without(v hujson.Value, n int) []replacement {
	items := itemsOf(v)
	is := items[n]
	from, to := is.from, is.to
	var cuts []replacement
	switch {
	case is.comma >= 0 && t.blank(is.to, is.comma):
		to = is.comma + 1
	case is.comma >= 0:
		cuts = append(cuts, replacement{is.comma, is.comma + 1, ""})
	case n > 0: // the comma before it is not needed any more
		before := items[n-1].comma
		if t.blank(before+1, from) && !t.leads(from) {
			from = before
		} else {
			cuts = append(cuts, replacement{before, before + 1, ""})
		}
	}
	end := t.skip(to)
	line, _, broken := bytes.Cut(t.data[end:], []byte("\n"))
	rest := len(bytes.TrimSuffix(line, []byte("\r")))
	switch {
	case from == is.from && t.leads(from) && broken && rest == 0:
		from, to = t.lineStart(from), end+len(line)+1
	case from == is.from && rest > 0 && (is.comma >= 0 || t.leads(from)):
		to = end
	}
	return append(cuts, replacement{from, to, ""})
}

// replaced replaces a value by another one.
func (t *jsonText) replaced(v hujson.Value, value any) []replacement {
	_, nested := value.(tree)
	margin := t.margin(v.StartOffset)
	return []replacement{{v.StartOffset, v.EndOffset, t.form().value(value, margin, nested)}}
}

// form is the formatting of a part of a file.
type form struct {
	eol  string // the line ending
	step string // the indentation of each level
}

// item writes a member of an object, or an element of a list.
func (f form) item(add any, margin string, lines bool) string {
	if s, ok := add.(setting); ok {
		return quoted(s.key) + ": " + f.value(s.value, margin, lines)
	}
	return f.value(add, margin, lines)
}

// value writes a value; if lines is true, an object over several lines.
func (f form) value(value any, margin string, lines bool) string {
	var b strings.Builder
	switch v := value.(type) {
	case scalar:
		if v.quoted {
			return quoted(v.text)
		}
		return v.text
	case []scalar:
		for i, s := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoted(s.text))
		}
		return "[" + b.String() + "]"
	case tree:
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
