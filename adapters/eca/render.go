package eca

import (
	"strings"

	"dragoman/core"
)

// RenderOptions are the circumstances of a rendering. The zero value is a client of
// today that watches a session as it happens.
type RenderOptions struct {
	Chat    core.SessionID
	Client  string        // clientInfo.name
	History bool          // the records are history, as chat/open shows it
	Profile *core.Profile // what can be chosen; nil: nothing
}

// Render returns what records become for a client: one JSON message each, without
// its header, in their order. It is what a connection sends by way of the log, and
// nothing that answers a request.
func Render(records []core.Record, o RenderOptions) []string {
	v := newView(o.Chat, nil, o.Client, newOffer(o.Profile))
	v.live = !o.History
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
