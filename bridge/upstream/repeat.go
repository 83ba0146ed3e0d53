package upstream

import (
	"encoding/json"
	"fmt"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// MayRepeat reports whether a client's request may be made a second time after the server
// ended in the middle of the first: it only reads, or it calls a tool that the server has
// annotated as read-only or idempotent.
func (v *View) MayRepeat(method, tool string) bool {
	switch method {
	case proto.MethodListTools, proto.MethodListPrompts, proto.MethodListResources, proto.MethodListTemplates,
		proto.MethodGetPrompt, proto.MethodReadResource, proto.MethodComplete, proto.MethodPing, proto.MethodDiscover,
		proto.MethodSubscribe, proto.MethodUnsubscribe, proto.MethodSetLevel, proto.MethodGetTask:
		return true
	case proto.MethodCallTool:
	default:
		return false
	}
	v.mu.Lock()
	said := v.said[tool]
	v.mu.Unlock()
	var t struct {
		Annotations struct {
			ReadOnly   bool `json:"readOnlyHint"`
			Idempotent bool `json:"idempotentHint"`
		} `json:"annotations"`
	}
	return wire.Unmarshal(json.RawMessage(said), &t) == nil && (t.Annotations.ReadOnly || t.Annotations.Idempotent)
}

// EndedError returns the error of a call that a server ended in the middle of; harmless is
// that of MayRepeat.
func EndedError(server string, harmless bool, why string) error {
	effect := ", which may have had its effect"
	if harmless {
		effect = ""
	}
	return fmt.Errorf("the MCP server %s ended in the middle of the call%s: %s", server, effect, why)
}
