package eca

import (
	"strings"

	"dragoman/adapters/eca/offer"
	"dragoman/core"
)

// RenderOptions are the circumstances of a rendering. The zero value describes a client of
// today's document that watches a session live.
type RenderOptions struct {
	Chat    core.SessionID
	Client  string        // clientInfo.name
	History bool          // the records are history, as chat/open shows it
	Profile *core.Profile // the possible choices; nil: none
}

// Render returns a client's messages for records: one JSON message each, without its header, in
// order. It is everything that a connection sends for the log, without responses to requests.
func Render(records []core.Record, o RenderOptions) []string {
	v := newView(o.Chat, nil, o.Client, offer.New(o.Profile))
	if !o.History {
		v.begins()
	}
	var lines []byte
	for _, r := range records {
		lines = encode(lines, v, r)
	}
	lines = v.settle(lines)
	if len(lines) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(lines), "\n"), "\n")
}
