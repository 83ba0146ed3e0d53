package acp

import (
	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// The protocol as it was in August 2025. It had no clientInfo, by which its clients
// are known; the second version, still a draft, calls it info. They differ from
// today's in what they are answered:
//
//   - `authenticate` and `session/load` answer null, which is all that their
//     library can decode there;
//   - a turn has no end for too many requests: it is max_tokens to them;
//   - a tool call that changes the mode has no kind of its own: it is other.
//
// Capabilities and "jsonrpc" may be missing in what they send, members stand in any
// order, and what they do not know they skip.

func isEarly(p acp.InitializeRequest) bool { return p.ClientInfo == nil && p.Info == nil }

// empty is an answer that says no more than yes.
func (p peer) empty() any {
	if p.early {
		return nil
	}
	return acp.Marker{}
}

// stopReason is a turn's end in the client's words.
func (p peer) stopReason(r acp.StopReason) acp.StopReason {
	if p.early && r == acp.StopMaxTurns {
		return acp.StopMaxTokens
	}
	return r
}

// kind is a tool call's kind in words that clients of any day know.
func kind(k core.CallKind) acp.ToolKind {
	switch k {
	case core.KindRead,
		core.KindEdit,
		core.KindDelete,
		core.KindMove,
		core.KindSearch,
		core.KindExecute,
		core.KindThink,
		core.KindFetch,
		core.KindOther:
		return acp.ToolKind(k)
	}
	return acp.ToolKind(core.KindOther)
}
