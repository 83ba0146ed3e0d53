package mcp

import "encoding/json"

// Message is one message, taken apart, as it passes within the process. All but Method are
// JSON, and valid. A request has a method and an id, a notification a method, and an answer
// an id and either a result or an error.
type Message struct {
	ID     json.RawMessage // as it was written
	Method string
	Params json.RawMessage // nil: absent
	Result json.RawMessage
	Error  json.RawMessage
}
