package imports

import (
	"encoding/json"
	"errors"
	"slices"

	"dragoman/core/jsonscan"
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
			err = errors.New("it is not a JSON object")
		}
		return nil, nil, err
	}
	seen := map[string]bool{}
	for m := jsonscan.MembersOf(text, jsonscan.AnyDepth); m.Next(); {
		if name := jsonscan.Text(slices.Concat([]byte{'"'}, m.Key, []byte{'"'})); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, values, nil
}
