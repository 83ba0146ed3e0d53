package eca

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// camel writes the names of a params object as the protocol spells them: the
// Emacs client sends some with hyphens (request-id, doc-text), which the reference
// server takes. Only the names of the object itself are looked at, for what lies
// deeper may be a user's own. A name that stands there in both spellings stays, and
// so is unknown. params is JSON, or absent.
func camel(params json.RawMessage) json.RawMessage {
	if !bytes.Contains(params, []byte("-")) {
		return params
	}
	type member struct {
		name string
		val  json.RawMessage
	}
	var members []member
	seen := map[string]bool{}
	hyphens := false
	dec := json.NewDecoder(bytes.NewReader(params))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return params
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return params
		}
		m := member{name: name.(string)} // a name is always a string
		if err := dec.Decode(&m.val); err != nil {
			return params
		}
		seen[m.name] = true
		hyphens = hyphens || strings.Contains(m.name, "-")
		members = append(members, m)
	}
	if !hyphens {
		return params
	}
	out := append(make([]byte, 0, len(params)), '{')
	for i, m := range members {
		if to := joined(m.name); !seen[to] {
			m.name = to
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return params
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), m.val...)
	}
	return append(out, '}')
}

// joined is a hyphenated name in camel case.
func joined(name string) string {
	head, rest, found := strings.Cut(name, "-")
	if !found {
		return name
	}
	var b strings.Builder
	b.WriteString(head)
	for part := range strings.SplitSeq(rest, "-") {
		if part == "" || part[0] >= utf8.RuneSelf {
			return name
		}
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// said is the text behind a pointer; absent and null are the empty text.
func said(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// maxID is how long a chat's id may be, in bytes.
const maxID = 256

// subagents is what the ids of chats begin with that only a server makes.
const subagents = "subagent-"

// checkID says what is wrong with a chat's id.
func checkID(id string) error {
	switch {
	case strings.TrimSpace(id) == "":
		return wrong("chatId is blank")
	case len(id) > maxID:
		return wrong("chatId is longer than %d bytes", maxID)
	case strings.ContainsRune(id, 0):
		return wrong("chatId holds a NUL")
	}
	return nil
}
