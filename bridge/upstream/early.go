package upstream

import (
	"encoding/json"
	"slices"
	"sync"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// Before versions were dates one was a number, and servers of that day are spoken to as
// well. Which version is spoken is agreed on like any other. An edge in the connection turns
// what such a server says into what the oldest version with a date has:
//
//   - An error without an id belongs to the request that has waited longest: the server has
//     no other errors, also while the version is being agreed on.
//   - The text of a tool's output, or of a prompt, becomes a content.
//   - Nothing at all (null) becomes an empty result.
//
// A server of that day may have fewer lists than it says: that is a matter of its version
// (Peer.Lists), and not of the edge.

// early returns the edge of a connection to a server whose version is not known yet.
func early() wire.Edge { return new(earlyEdge) }

// earlyOpen is how many requests are remembered that wait for their answers.
const earlyOpen = 1000

// earlyEdge is the edge of one connection.
type earlyEdge struct {
	requests wire.Pending

	mu   sync.Mutex        // guards the field below
	open []json.RawMessage // the ids of requests that wait, the oldest first
}

// Send implements wire.Edge.
func (e *earlyEdge) Send(dst, msg []byte) []byte {
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
func (e *earlyEdge) Answer(msg []byte) []byte { return msg }

// Read implements wire.Edge.
func (e *earlyEdge) Read(msg []byte) []byte {
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

// earlyResults take the place of results, by the methods of their requests.
var earlyResults = map[string]func(json.RawMessage) json.RawMessage{
	proto.MethodCallTool: func(result json.RawMessage) json.RawMessage {
		return earlyText(result, "output", "content", func(content any) any { return content })
	},
	proto.MethodGetPrompt: func(result json.RawMessage) json.RawMessage {
		return earlyText(result, "prompt", "messages", func(content any) any { return map[string]any{"role": "user", "content": content} })
	},
}

// earlyText puts a list of one item in the place of a text, unless there is a list.
func earlyText(result json.RawMessage, text, list string, item func(content any) any) json.RawMessage {
	var said *string
	r := wire.Object(result)
	if r[list] != nil || json.Unmarshal(r[text], &said) != nil || said == nil {
		return result
	}
	items := []any{item(map[string]string{"type": "text", "text": *said})}
	return wire.Edit(result, wire.Set(text, nil), wire.Set(list, wire.JSON(items)))
}
