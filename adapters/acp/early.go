package acp

import (
	"bytes"
	"encoding/json"
	"slices"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
)

// The protocol of 5 August 2025 had no clientInfo, and of capabilities only fs. Its clients are
// recognized by an initialize that holds nothing younger: clientInfo is optional today, so a client
// without one that has any other member or capability is one of today, and stays one if it initializes
// again. The second version, still a draft, calls it info. An edge in the connection of early clients turns today's answers into
// those of that time:
//
//   - authenticate and session/load answer null, the only result that their library can decode
//     there;
//   - a turn that ended because of too many requests has the reason max_tokens;
//   - a session's title, the time of its last use and its clients are left out: their library prints an
//     error for each session_info_update;
//   - a call of a later kind is one of the kind other.
//
// The rest needs no edge: their messages may lack capabilities and "jsonrpc", members come in any
// order, and they skip unknown members. The version number is still 1.

// early returns the edge for a client; nil: it needs none.
func early(p acp.InitializeRequest) wire.Edge {
	if p.ClientInfo != nil || p.Info != nil || len(p.Meta) > 0 || !earlyCapabilities(p.ClientCapabilities) {
		return nil
	}
	return new(earlyEdge)
}

// earlyCapabilities reports whether a client's capabilities hold at most those of August 2025.
func earlyCapabilities(caps json.RawMessage) bool {
	var members, fs map[string]json.RawMessage
	if len(caps) == 0 {
		return true
	}
	if json.Unmarshal(caps, &members) != nil || members["fs"] != nil && json.Unmarshal(members["fs"], &fs) != nil {
		return false
	}
	delete(members, "fs")
	delete(fs, "readTextFile")
	delete(fs, "writeTextFile")
	return len(members) == 0 && len(fs) == 0
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

// updateHead stands in front of an update's kind. All updates are encoded alike.
var updateHead = []byte(`,"update":{"sessionUpdate":"`)

// infoKind begins updates about the session itself.
var infoKind = []byte(`session_info_update"`)

// textKinds begin updates that hold text alone, most of all messages.
var textKinds = [][]byte{[]byte(`agent_message_chunk"`), []byte(`agent_thought_chunk"`)}

// laterKind is the kind of a call that is younger than these clients.
var laterKind, earlyKind = []byte(`"kind":"switch_mode"`), []byte(`"kind":"other"`)

// Send implements wire.Edge.
func (e *earlyEdge) Send(dst, msg []byte) []byte {
	_, update, _ := bytes.Cut(msg, updateHead)
	begins := func(kind []byte) bool { return bytes.HasPrefix(update, kind) }
	switch {
	case begins(infoKind):
		return dst
	case slices.ContainsFunc(textKinds, begins):
		return append(append(dst, msg...), '\n')
	}
	return append(append(dst, bytes.ReplaceAll(msg, laterKind, earlyKind)...), '\n')
}
