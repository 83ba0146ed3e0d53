package eca

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"
)

// camel converts the names of a params object to the protocol's spelling: the Emacs client sends
// some with hyphens (request-id, doc-text), which the reference server accepts. Only the names of
// the object itself are converted, because deeper names may be the user's own. A name that occurs
// in both spellings stays, and so is unknown. params is JSON, or absent.
func camel(params json.RawMessage) json.RawMessage {
	if !bytes.Contains(params, []byte("-")) {
		return params
	}
	seen := map[string]bool{}
	hyphens := false
	for name := range wire.Members(params) {
		seen[string(name)] = true
		hyphens = hyphens || bytes.Contains(name, []byte("-"))
	}
	if !hyphens {
		return params
	}
	out := append(make([]byte, 0, len(params)), '{')
	for name, val := range wire.Members(params) {
		to := joined(string(name))
		if seen[to] {
			to = string(name)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonscan.AppendString(out, to), ':'), val...)
	}
	return append(out, '}')
}

// joined converts a hyphenated name to camel case.
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

// said returns the text of a pointer; absent and null mean the empty text.
func said(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// maxID limits a chat's id, in bytes.
const maxID = 256

// subagents begins the ids of chats that only a server creates.
const subagents = "subagent-"

// checkID returns the fault in a chat's id.
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
