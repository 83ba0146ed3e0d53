package acp

import (
	"encoding/json"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
)

// The protocol of August 2025 had no clientInfo, so its clients are recognized by a missing one;
// the second version, still a draft, calls it info. An edge in their connection turns today's
// answers into those of that time:
//
//   - authenticate and session/load answer null, the only result that their library can decode
//     there;
//   - a turn that ended because of too many requests has the reason max_tokens.
//
// The rest needs no edge: their messages may lack capabilities and "jsonrpc", members come in any
// order, and they skip unknown members. The kinds of tool calls are limited to the early ones for
// all clients, and the version number is still 1.

// early returns the edge for a client; nil: it needs none.
func early(p acp.InitializeRequest) wire.Edge {
	if p.ClientInfo != nil || p.Info != nil {
		return nil
	}
	return new(earlyEdge)
}

// earlyResults replaces results, by the methods of their requests.
var earlyResults = map[string]func(json.RawMessage) json.RawMessage{
	"authenticate": func(json.RawMessage) json.RawMessage { return json.RawMessage("null") },
	"session/load": func(json.RawMessage) json.RawMessage { return json.RawMessage("null") },
	"session/prompt": func(result json.RawMessage) json.RawMessage {
		var r acp.PromptResponse
		if json.Unmarshal(result, &r) != nil || r.StopReason != acp.StopMaxTurns {
			return result
		}
		return wire.Edit(result, wire.Set("stopReason", wire.JSON(acp.StopMaxTokens)))
	},
}

// earlyEdge is the edge of one connection.
type earlyEdge struct{ requests wire.Pending }

// Read implements wire.Edge.
func (e *earlyEdge) Read(msg []byte) []byte {
	if m, err := wire.Parse(msg); err == nil && m.Kind() == wire.Request && earlyResults[m.Method] != nil {
		e.requests.Note(m)
	}
	return msg
}

// Answer implements wire.Edge.
func (e *earlyEdge) Answer(msg []byte) []byte {
	m, err := wire.Parse(msg)
	if err != nil {
		return msg
	}
	if rewrite := earlyResults[e.requests.Take(m)]; rewrite != nil && m.Result != nil {
		return wire.Edit(msg, wire.Set("result", rewrite(m.Result)))
	}
	return msg
}

// Send implements wire.Edge.
func (e *earlyEdge) Send(dst, msg []byte) []byte { return append(append(dst, msg...), '\n') }
