package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Implementation is how programs introduce themselves.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// String is the name with the version.
func (i Implementation) String() string { return strings.TrimSpace(i.Name + " " + i.Version) }

// Types of a result (2026-07-28).
const (
	ResultComplete      = "complete"
	ResultInputRequired = "input_required"
	ResultTask          = "task" // the call goes on as a task
)

// Actions that answer an elicitation (Client, Elicitation).
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel" // the form was closed, and nobody has decided anything
)

// Modes of an elicitation; one without any is a form.
const (
	ModeForm = "form"
	ModeURL  = "url"
)

// InputRequest is something that a server wants to know of the client: a request in a result.
type InputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// InputRequired is a result that asks the client something first (2026-07-28, Multi Round-Trip
// Requests): the client makes the same call again, with the answers and the state.
type InputRequired struct {
	Type     string                  `json:"resultType"` // ResultInputRequired
	Requests map[string]InputRequest `json:"inputRequests,omitempty"`
	State    json.RawMessage         `json:"requestState,omitempty"` // a string
}

// ReadInputRequired reads a result that asks the client something first; ok is false for any other.
func ReadInputRequired(result json.RawMessage) (r InputRequired, ok bool) {
	return r, json.Unmarshal(result, &r) == nil && r.Type == ResultInputRequired
}

// VersionOf returns the version that the parameters of a request of 2026-07-28 name; "": they name none.
func VersionOf(params json.RawMessage) string {
	if !bytes.Contains(params, []byte(MetaVersion)) {
		return ""
	}
	var p struct {
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(params, &p) // without one there is none
	return p.Meta.Version
}
