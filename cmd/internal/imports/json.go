package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// plainJSON takes out what editors allow in their settings beyond JSON: comments,
// and commas before a closing bracket.
func plainJSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	comma := -1 // where the last comma stands in out, if only space has followed
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
			out = append(out, text[i:end]...)
			i, comma = end-1, -1
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			i += 2
			for i+1 < len(text) && (text[i] != '*' || text[i+1] != '/') {
				i++
			}
			i++
		case (c == '}' || c == ']') && comma >= 0:
			out = append(append(out[:comma], out[comma+1:]...), c)
			comma = -1
		default:
			if c == ',' {
				comma = len(out)
			} else if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				comma = -1
			}
			out = append(out, c)
		}
	}
	return out
}

// stringEnd is the place behind a JSON string that begins at i.
func stringEnd(text []byte, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(text)
}

// members takes a JSON object apart. names has the order of the text.
func members(text []byte) (names []string, values map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(text, &values); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			err = errors.New("it is no JSON object")
		}
		return nil, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for depth := 0; ; {
		tok, err := d.Token()
		if err != nil {
			return names, values, nil //nolint:nilerr // the end: the whole was read above
		}
		switch tok := tok.(type) {
		case json.Delim:
			if tok == '{' || tok == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			if depth == 1 {
				if !slices.Contains(names, tok) {
					names = append(names, tok)
				}
				var skipped json.RawMessage
				_ = d.Decode(&skipped) // it was read above
			}
		}
	}
}
