package configs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// EditorSource stands for the file in messages about what an editor set.
const EditorSource = "the editor's options"

// ParseEditor reads what an editor sets when it connects, a JSON object, as the
// lowest layer. Editors send keys of their own beside ours: those that we do not
// know, at the top, are left out and listed. A setting that is wrong is left out
// with the whole of its top key, and the error, an *Error, says so; the layer
// holds the others all the same and is not nil.
func ParseEditor(data []byte) (layer *Config, unknown []string, err error) {
	layer = &Config{Source: EditorSource}
	data = bytes.TrimSpace(data)
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return layer, nil, nil
	}
	var keys map[string]json.RawMessage
	if len(data) > maxFile || json.Unmarshal(data, &keys) != nil {
		return layer, nil, asError([]Problem{{Position: Position{File: EditorSource}, Message: "must be a JSON object of at most 1 MiB"}})
	}
	var problems []Problem
	for _, key := range editorOrder(keys) {
		value := keys[key]
		switch {
		case !isSetting(key):
			unknown = append(unknown, cut(key))
			continue
		case bytes.Equal(value, []byte("null")):
			continue // how editors say that they say nothing
		}
		next, wrong := layer.withKey(key, value)
		if problems = append(problems, wrong...); len(wrong) == 0 {
			layer = next
		}
	}
	return layer, unknown, asError(problems)
}

// editorOrder lists keys so that what others refer to comes before them.
func editorOrder(keys map[string]json.RawMessage) []string {
	names := slices.Sorted(maps.Keys(keys))
	i := slices.Index(names, "providers")
	if i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "providers")
	}
	return names
}

func isSetting(key string) bool {
	return slices.ContainsFunc((fieldCache{}).of(reflect.TypeFor[Config]()), func(f field) bool { return f.name == key })
}

// withKey lays one top key over a layer and checks both.
func (c *Config) withKey(key string, value json.RawMessage) (*Config, []Problem) {
	text, err := json.Marshal(map[string]json.RawMessage{key: value})
	if err != nil {
		return nil, []Problem{{Position: Position{File: EditorSource}, Key: key, Message: err.Error()}}
	}
	one, problems := decodeFile(EditorSource, text, false)
	one.unplace()
	_, err = resolve(c, one, nil, nil)
	var whole *Error
	if errors.As(err, &whole) {
		problems = append(problems, whole.Problems...)
	}
	if len(problems) > 0 {
		for i := range problems {
			problems[i].Line, problems[i].Column = 0, 0
		}
		return nil, problems
	}
	next := &Config{Source: EditorSource, where: map[string]Position{}, bad: map[string]bool{}, shared: map[string]bool{}}
	next.lay(c, false) // without the defaults, which a layer must not hold
	next.lay(one, false)
	return next, nil
}

// unplace forgets the lines of a text that nobody has seen.
func (c *Config) unplace() {
	for key, at := range c.where {
		c.where[key] = Position{File: at.File}
	}
}

// UnknownKeys is a message about keys that an editor sent and that mean nothing
// here; "" for those that every editor sends.
func UnknownKeys(keys []string) string {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "chatAgent" || k == "chatBehavior" })
	if len(keys) == 0 {
		return ""
	}
	more := ""
	if n := len(keys) - 20; n > 0 {
		keys, more = keys[:20], fmt.Sprintf(" and %d more", n)
	}
	return "mean nothing here: " + strings.Join(keys, ", ") + more
}
