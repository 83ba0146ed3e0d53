package upstream

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/jsonscan"
)

// maxCompared limits the work of looking for the values of a structured result in a text, in bytes that are read.
const maxCompared = 64 << 20

// unsaid returns the part of a structured result whose values are not in the content blocks; nil: all of them are.
// Servers put the same into both, or only a summary into the text: a model reads each value once.
func unsaid(structured json.RawMessage, blocks []core.Block) json.RawMessage {
	if structured == nil {
		return nil
	}
	if len(blocks) == 0 {
		return structured
	}
	d := json.NewDecoder(bytes.NewReader(structured))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return structured
	}
	s := said{text: readIn(blocks)}
	for _, b := range blocks {
		if t, ok := b.(core.Text); ok && sameJSON(t.Text, v) {
			return nil
		}
	}
	if leaves(v)*len(s.text) > maxCompared {
		return structured
	}
	rest, some := s.without("", v)
	switch {
	case !some:
		return nil
	case reflect.DeepEqual(rest, v):
		return structured
	}
	out, err := jsonscan.Append(nil, rest)
	if err != nil {
		return structured
	}
	return out
}

// readIn returns all that a model reads of content blocks.
func readIn(blocks []core.Block) string {
	var b strings.Builder
	for _, block := range blocks {
		switch block := block.(type) {
		case core.Text:
			b.WriteString(block.Text)
		case core.Resource:
			b.WriteString(block.URI + "\n" + block.Text)
		case core.Link:
			b.WriteString(block.URI + "\n" + block.Name + "\n" + block.Title + "\n" + block.Description)
		case core.Image, core.Audio, core.Diff, core.Terminal:
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// sameJSON reports whether a text is the JSON of a value.
func sameJSON(text string, v any) bool {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' {
		return false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var w any
	return d.Decode(&w) == nil && !d.More() && reflect.DeepEqual(v, w)
}

func leaves(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			n += leaves(one)
		}
	case []any:
		for _, one := range v {
			n += leaves(one)
		}
	default:
		return 1
	}
	return n
}

// said is a text in which values are looked for.
type said struct{ text string }

// without returns a value without its parts that are in the text, and whether something is left. The objects in a
// list keep their places.
func (s said) without(name string, v any) (rest any, some bool) {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, one := range v {
			if r, left := s.without(key, one); left {
				out[key] = r
			}
		}
		return out, len(out) > 0
	case []any:
		out := []any{}
		for _, one := range v {
			r, left := s.without(name, one)
			_, isObject := one.(map[string]any)
			if some = some || left; left || isObject {
				out = append(out, r)
			}
		}
		return out, some
	case string:
		return v, !s.hasText(name, v)
	case json.Number:
		return v, !s.has(v.String())
	}
	return v, !s.has(name) // true, false and null say nothing without a name
}

// hasText looks for a text as it is, and as it is written in JSON; an empty one for its name.
func (s said) hasText(name, v string) bool {
	if v == "" {
		return s.has(name)
	}
	quoted, err := jsonscan.Append(nil, v)
	return s.has(v) || err == nil && s.has(string(quoted[1:len(quoted)-1])) || s.has(strings.TrimSpace(v)) && strings.TrimSpace(v) != ""
}

// has reports whether the text has a value that is not a part of a longer word or number.
func (s said) has(v string) bool {
	for at := 0; v != ""; {
		i := strings.Index(s.text[at:], v)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(s.text[:at])
		first, _ := utf8.DecodeRuneInString(v)
		last, _ := utf8.DecodeLastRuneInString(v)
		after, _ := utf8.DecodeRuneInString(s.text[at+len(v):])
		if !joins(before, first) && !joins(last, after) {
			return true
		}
		_, size := utf8.DecodeRuneInString(s.text[at:])
		at += size
	}
	return false
}

// joins reports whether two characters belong to one word.
func joins(a, b rune) bool {
	return slices.ContainsFunc([]func(rune) bool{unicode.IsLetter, unicode.IsDigit}, func(is func(rune) bool) bool { return is(a) && is(b) })
}
