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

// EditorSource replaces the file name in messages about an editor's options.
const EditorSource = "the editor's options"

// ParseEditor reads the options of an editor that connects, a JSON object, as the lowest layer.
// Editors take settings from folders that they open, so the layer cannot set the address that a
// user's key is sent to, or the files that are read or written: see beyondEditor. Editors also
// send keys of their own: unknown ones, at the top, are left out and listed. An invalid setting
// is left out with its whole top key, and reported in the error, an *Error; the layer is not nil
// and has all the others.
func ParseEditor(data []byte) (layer *Config, unknown []string, err error) {
	layer = &Config{Source: EditorSource}
	data = bytes.TrimSpace(data)
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return layer, nil, nil
	}
	var keys map[string]json.RawMessage
	if len(data) > maxFile || json.Unmarshal(data, &keys) != nil {
		return layer, nil, asError(
			[]Problem{{Position: Position{File: EditorSource}, Message: "must be a JSON object of at most 1 MiB"}},
		)
	}
	var problems []Problem
	for _, key := range editorOrder(keys) {
		value := keys[key]
		switch {
		case !isSetting(key):
			unknown = append(unknown, cut(key))
			continue
		case bytes.Equal(value, []byte("null")):
			continue // editors send this for a missing value
		}
		next, wrong := layer.withKey(key, value)
		if problems = append(problems, wrong...); len(wrong) == 0 {
			layer = next
		}
	}
	return layer, unknown, asError(problems)
}

// editorOrder sorts keys so that a setting comes after those that it refers to.
func editorOrder(keys map[string]json.RawMessage) []string {
	names := slices.Sorted(maps.Keys(keys))
	i := slices.Index(names, "providers")
	if i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "providers")
	}
	return names
}

func isSetting(key string) bool {
	return slices.ContainsFunc(
		fieldsOf(reflect.TypeFor[Config]()),
		func(f field) bool { return f.name == key },
	)
}

// withKey adds one top key to a layer and checks both.
func (c *Config) withKey(key string, value json.RawMessage) (*Config, []Problem) {
	text, err := json.Marshal(map[string]json.RawMessage{key: value})
	if err != nil {
		return nil, []Problem{{Position: Position{File: EditorSource}, Key: key, Message: err.Error()}}
	}
	one, problems := decodeFile(EditorSource, text, false)
	one.unplace()
	problems = append(problems, one.beyondEditor()...)
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
	next := &Config{
		Source: EditorSource,
		where:  map[string]Position{},
		bad:    map[string]bool{},
		shared: map[string]bool{},
	}
	next.lay(c, false) // without the defaults, which a layer must not hold
	next.lay(one, false)
	return next, nil
}

// beyondEditor lists the settings that an editor may not set: references, which would pass a
// variable or a file to the other settings' destinations; the address of a known provider, which
// receives the user's key; and files that are written.
func (c *Config) beyondEditor() (problems []Problem) {
	const own = "; write it in your own configuration file"
	wrong := func(key, message string) {
		problems = append(problems, Problem{Position: Position{File: EditorSource}, Key: key, Message: message})
	}
	visit(reflect.ValueOf(c).Elem(), "", field{}, func(key string, _ field, v reflect.Value) {
		if r, ok := v.Interface().(readable); ok && r.hasReference() {
			wrong(key, "an editor's options cannot contain references"+own)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p, key := c.Providers[name], join("providers", name)
		if k, ok := KnownProvider(name); ok && !k.Local() && !p.BaseURL.IsZero() {
			wrong(
				join(key, "base_url"),
				"your key for "+k.Label+" would be sent there; give the provider another name, or"+own[1:],
			)
		}
		for _, option := range []string{"file", "record"} {
			if _, ok := p.Options[option]; ok {
				wrong(join(join(key, "options"), option), "an editor's options name no file of a provider's"+own)
			}
		}
	}
	problems = append(problems, c.agentsBeyondEditor(own)...)
	for key := range c.where {
		if slices.Contains([]string{"policy.unattended", "policy.terminal", "policy.sandbox", "policy.write"}, key) {
			wrong(key, "an editor's options do not say how commands are confined"+own)
		}
	}
	if c.Limits.Unknown != "" {
		wrong("limits.unknown", "an editor's options do not say what is spent without a limit"+own)
	}
	if !c.Log.File.IsZero() {
		wrong("log.file", "an editor's options do not say where is written"+own)
	}
	return problems
}

// FromEditor reports whether a setting, or one below it, comes from an editor. key has the form
// of Where.
func (c *Config) FromEditor(key string) bool {
	for k, at := range c.where {
		if rest, ok := strings.CutPrefix(k, key); ok && at.File == EditorSource &&
			(rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// unplace removes the line numbers, because the user has not seen the text.
func (c *Config) unplace() {
	for key, at := range c.where {
		c.where[key] = Position{File: at.File}
	}
}

// ecaSettings are settings of the ECA server that are not used here, with those that are used
// instead; "": there is none.
var ecaSettings = map[string]string{
	"agent": "agents", "autoCompactPercentage": "limits.compact_at", "chat": "", "commands": "", "completion": "",
	"customTools": "mcp_servers", "defaultAgent": "default_agent", "defaultModel": "model", "disabledTools": "policy.deny",
	"hooks": "", "mcpServers": "mcp_servers", "prompts": "agents", "rewrite": "", "rules": "", "skills": "",
	"toolCall": "policy", "welcomeMessage": "",
}

// UnknownKeys returns a message for the user about keys of an editor that are unknown here, a line
// for each, or "". Keys that every editor sends are left out.
func UnknownKeys(keys []string) string {
	const most = 20
	var names, lines []string
	for _, f := range fieldsOf(reflect.TypeFor[Config]()) {
		names = append(names, f.name)
	}
	for _, key := range keys {
		instead, eca := ecaSettings[key]
		line := key + ": unknown key" + DidYouMean(key, names)
		switch {
		case key == "chatAgent" || key == "chatBehavior":
			continue
		case instead != "":
			line = key + ": is a setting of the ECA server, which is not used here; use " + quote(instead)
		case eca:
			line = key + ": is a setting of the ECA server, which is not used here"
		}
		lines = append(lines, line)
	}
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more unknown keys", n))
	}
	return strings.Join(lines, "\n")
}
