package imports

import (
	"encoding/json"
	"errors"
	"slices"

	"dragoman/core/jsonscan"
)

// members splits a JSON object into its members. names has the order of the text.
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
