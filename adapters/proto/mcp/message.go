package mcp

import "encoding/json"

// Message is one decoded message, as passed within the process. All members but Method are valid
// JSON. A request has a method and an id, a notification a method, and a response an id and
// either a result or an error.
type Message struct {
	ID     json.RawMessage // unchanged
	Method string
	Params json.RawMessage // nil: absent
	Result json.RawMessage
	Error  json.RawMessage
}
