package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Args renders a call's arguments for a person who decides about the call: as JSON without
// needless escapes, cut by Clipped to n characters. Invisible characters are spelled out
// (Visible), and texts whose names are those of secrets are replaced (SecretName). It
// returns "" if there are no arguments.
func Args(args json.RawMessage, n int) string {
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber() // as they are written
	if d.Decode(&v) != nil || len(v) == 0 {
		return ""
	}
	return Clipped(Visible(plainJSON(withoutSecrets(v))), n)
}

// plainJSON encodes a decoded value without needless escapes.
func plainJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// VisibleArgs returns a call's arguments with the invisible characters in all texts and
// names spelled out (VisibleLines), for clients that show them as they come.
func VisibleArgs(args json.RawMessage) json.RawMessage {
	var v any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if printableASCII(string(args)) && !bytes.Contains(args, []byte(`\u`)) || d.Decode(&v) != nil {
		return args
	}
	return json.RawMessage(plainJSON(visibleTexts(v)))
}

func visibleTexts(v any) any {
	switch v := v.(type) {
	case string:
		return VisibleLines(v)
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, inner := range v {
			all[VisibleLines(name)] = visibleTexts(inner)
		}
		return all
	case []any:
		for i := range v {
			v[i] = visibleTexts(v[i])
		}
	}
	return v
}

// withoutSecrets replaces the texts of a decoded value whose names are those of secrets.
// Numbers stay: max_tokens is no secret.
func withoutSecrets(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			switch inner.(type) {
			case json.Number, bool, nil:
				continue
			}
			if v[name] = withoutSecrets(inner); SecretName(name) {
				v[name] = "[redacted]"
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutSecrets(v[i])
		}
	}
	return v
}

// Clip returns the first n characters of s, and how many follow.
func Clip(s string, n int) (short string, left int) {
	if len(s) <= n {
		return s, 0
	}
	i, count := 0, 0
	for i = range s {
		if count == n {
			return s[:i], utf8.RuneCountInString(s[i:])
		}
		count++
	}
	return s, 0
}

// Clipped returns s, or, if that is longer than n characters, its first n and a note with the
// number of the others.
func Clipped(s string, n int) string {
	short, left := Clip(s, n)
	if left == 0 {
		return s
	}
	return fmt.Sprintf("%s… (%d more characters)", short, left)
}
