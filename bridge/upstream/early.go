package upstream

import (
	"encoding/json"
	"slices"
	"sync"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// Before versions were dates one was a number, and servers of that time are supported as well.
// The version is negotiated like any other. An edge in the connection turns such a server's
// messages into those of the oldest version with a date:
//
//   - An error without an id belongs to the oldest open request: the server has no other errors,
//     also during the negotiation of the version.
//   - The text of a tool's output, or of a prompt, becomes a content.
//   - A null result becomes an empty one.
//
// A server of that time may have fewer lists than it announces: that depends on its version
// (Peer.Lists), and not on the edge.

// VersionEdge returns the edge of a connection to a server whose version is unknown yet.
func VersionEdge() wire.Edge { return new(early) }

// earlyOpen limits the open requests that are remembered.
const earlyOpen = 1000

// early is the edge of one connection.
type early struct {
	requests wire.Pending

	mu   sync.Mutex        // guards the field below
	open []json.RawMessage // the ids of open requests, the oldest first
}

// Send implements wire.Edge.
func (e *early) Send(dst, msg []byte) []byte {
	if m, err := wire.Parse(msg); err == nil && m.Kind() == wire.Request {
		m.ID = slices.Clone(m.ID)
		e.requests.Note(m)
		e.mu.Lock()
		e.open = append(e.open[max(0, len(e.open)+1-earlyOpen):], m.ID)
		e.mu.Unlock()
	}
	return append(append(dst, msg...), '\n')
}

// Answer implements wire.Edge.
func (e *early) Answer(msg []byte) []byte { return msg }

// Read implements wire.Edge.
func (e *early) Read(msg []byte) []byte {
	m, err := wire.Parse(msg)
	if m.Kind() != wire.Response {
		return msg
	}
	nameless := m.ID == nil && m.Error != nil
	e.mu.Lock()
	if nameless && len(e.open) > 0 {
		m.ID = e.open[0]
	}
	e.open = slices.DeleteFunc(e.open, func(id json.RawMessage) bool { return string(id) == string(m.ID) })
	e.mu.Unlock()
	method := e.requests.Take(m)
	switch {
	case nameless && m.ID != nil:
		return wire.Edit(msg, wire.Set("id", m.ID))
	case err != nil || m.Result == nil:
		return msg
	case string(m.Result) == "null":
		return wire.Edit(msg, wire.Set("result", json.RawMessage("{}")))
	case earlyResults[method] != nil:
		return wire.Edit(msg, wire.Set("result", earlyResults[method](m.Result)))
	}
	return msg
}

// earlyResults replaces results, by the methods of their requests.
var earlyResults = map[string]func(json.RawMessage) json.RawMessage{
	proto.MethodCallTool: func(result json.RawMessage) json.RawMessage {
		return earlyText(result, "output", "content", func(content any) any { return content })
	},
	proto.MethodGetPrompt: func(result json.RawMessage) json.RawMessage {
		return earlyText(result, "prompt", "messages", func(content any) any { return map[string]any{"role": "user", "content": content} })
	},
}

// earlyText replaces a text by a list of one item, unless there is a list.
func earlyText(result json.RawMessage, text, list string, item func(content any) any) json.RawMessage {
	var said *string
	r := wire.Object(result)
	if r[list] != nil || json.Unmarshal(r[text], &said) != nil || said == nil {
		return result
	}
	items := []any{item(map[string]string{"type": "text", "text": *said})}
	return wire.Edit(result, wire.Set(text, nil), wire.Set(list, wire.JSON(items)))
}
