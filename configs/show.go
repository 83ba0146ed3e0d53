package configs

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// Marshal writes a configuration as YAML, with a description of every section's settings,
// defaults filled in and secrets hidden. Unset settings are comments. Parse can read the result,
// except for references that only mcp.json has.
func Marshal(c *Config) []byte {
	w := &writer{of: c}
	w.structure(reflect.ValueOf(c).Elem(), 0, true)
	return bytes.TrimLeft(w.Bytes(), "\n")
}

type writer struct {
	bytes.Buffer
	of *Config // nil: positions are not written
}

func (w *writer) structure(v reflect.Value, depth int, explain bool) {
	for _, f := range fieldsOf(v.Type()) {
		sub := v.Field(f.index)
		unset := w.empty(sub) || !applies(v, f)
		if unset && (!explain || strings.HasPrefix(f.name, "$")) {
			continue
		}
		if explain {
			if depth == 0 {
				w.WriteByte('\n')
			}
			for _, line := range wrap(f.doc, 96-2*depth) {
				w.indent(depth)
				w.WriteString("# " + line + "\n")
			}
		}
		w.indent(depth)
		if unset {
			w.WriteString("# " + f.name + ":\n")
			continue
		}
		w.WriteString(f.name + ":")
		// The section explains the settings under a user's own names.
		w.value(sub, depth, explain && shapeOf(sub.Type()) == shapeStruct)
	}
}

// empty reports whether a setting is unset. A section with defaults is not.
func (w *writer) empty(v reflect.Value) bool {
	switch shapeOf(v.Type()) {
	case shapeBool, shapeInt, shapeDuration:
		return false
	case shapeMap, shapeList:
		return v.Len() == 0
	case shapeStruct:
		if z, ok := v.Interface().(interface{ IsZero() bool }); ok { // it may be left out as a whole
			return z.IsZero()
		}
		return !slices.ContainsFunc(fieldsOf(v.Type()), func(f field) bool { return !w.empty(v.Field(f.index)) })
	case shapeText:
		return v.Interface().(readable).written() == ""
	case shapeString, shapeNumber:
	}
	return v.IsZero()
}

// value writes the text after "key:", with the line's end.
func (w *writer) value(v reflect.Value, depth int, explain bool) {
	switch shapeOf(v.Type()) {
	case shapeStruct:
		if w.empty(v) {
			w.WriteString(" {}\n")
			return
		}
		w.WriteByte('\n')
		w.structure(v, depth+1, explain)
	case shapeMap:
		w.WriteByte('\n')
		for _, name := range namesIn(v) {
			w.from(v, name, depth+1)
			w.indent(depth + 1)
			w.WriteString(scalarText(name) + ":")
			w.value(v.MapIndex(reflect.ValueOf(name)), depth+1, false)
		}
	case shapeList:
		w.WriteByte('\n')
		for i := range v.Len() {
			w.listItem(v.Index(i), depth+1)
		}
	case shapeDuration, shapeInt, shapeBool, shapeNumber:
		w.WriteString(" " + formatNumber(v) + "\n")
	case shapeText:
		w.scalar(v.Interface().(fmt.Stringer).String(), depth)
	case shapeString:
		w.scalar(v.String(), depth)
	}
}

// from writes the position of an MCP server or an agent, because there are two files for them.
func (w *writer) from(entries reflect.Value, name string, depth int) {
	if w.of == nil {
		return
	}
	var key string
	switch entries.Type().Elem() {
	case reflect.TypeFor[MCPServer]():
		key = serverKey(name)
	case reflect.TypeFor[Agent]():
		if w.of.AgentsFile == "" {
			return
		}
		key = agentKey(name)
	default:
		return
	}
	if at, ok := w.of.Where(key); ok {
		w.indent(depth)
		w.WriteString("# from " + display.Visible(at.String()) + "\n")
	}
}

// listItem writes an element of a list; a mapping on one line, in braces.
func (w *writer) listItem(v reflect.Value, depth int) {
	w.indent(depth)
	w.WriteByte('-')
	if shapeOf(v.Type()) != shapeStruct {
		w.value(v, depth, false)
		return
	}
	w.WriteString(" {")
	first := true
	for _, f := range fieldsOf(v.Type()) {
		if s := v.Field(f.index); !s.IsZero() {
			if !first {
				w.WriteString(", ")
			}
			first = false
			w.WriteString(f.name + ": " + quoted(s.String()))
		}
	}
	w.WriteString("}\n")
}

// scalar writes a string; a longer text as a block.
func (w *writer) scalar(s string, depth int) {
	if !isBlock(s) {
		w.WriteString(" " + scalarText(s) + "\n")
		return
	}
	w.WriteString(" |\n")
	for line := range strings.Lines(s) {
		if line != "\n" {
			w.indent(depth + 1)
		}
		w.WriteString(line)
	}
}

// isBlock reports whether a text comes back unchanged from a block with only "|": it ends with
// one line break, begins with a word, and contains only printable characters.
func isBlock(s string) bool {
	body, ok := strings.CutSuffix(s, "\n")
	if !ok || body == "" || strings.HasSuffix(body, "\n") || strings.ContainsAny(body[:1], " \t\n#") ||
		!utf8.ValidString(s) {
		return false
	}
	for line := range strings.Lines(s) {
		if strings.HasSuffix(strings.TrimSuffix(line, "\n"), " ") {
			return false
		}
	}
	return !strings.ContainsFunc(body, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) })
}

// scalarText spells a string: bare if that is unambiguous, otherwise as in JSON, which YAML reads
// the same way.
func scalarText(s string) string {
	bare := s != ""
	for i, r := range s {
		word := isWord(r) && (i > 0 || r > '9')
		if !word && (i == 0 || !strings.ContainsRune("-./", r)) {
			bare = false
		}
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		bare = false
	}
	if bare {
		return s
	}
	return quoted(s)
}

func quoted(s string) string {
	b, _ := jsonscan.Append(nil, s) // a string never fails
	return string(b)
}

func (w *writer) indent(depth int) {
	for range depth {
		w.WriteString("  ")
	}
}

// wrap breaks a text into lines of at most width characters, if possible.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
