package acp

import (
	"encoding/json"
	"strings"
)

// Error codes in addition to those of JSON-RPC.
const (
	CodeAuthRequired = -32000
	CodeNotFound     = -32002
	CodeCancelled    = -32800
)

// NoMethod is the error message for an unknown method, a format for its name. Clients compare it.
const NoMethod = "Method not found - '%.100s'"

// Details is the data of an error: its message again, because some clients show the message and
// others the details.
type Details struct {
	Details string `json:"details"`
}

// NoSession is the data of CodeNotFound for a session that is not stored.
type NoSession struct {
	SessionID string `json:"sessionId"`
	Details   string `json:"details"`
}

// Refusal is an error with which a client answers a request of ours.
type Refusal struct {
	Code    int
	Message string
	Data    json.RawMessage
}

// Words returns the client's text: the message with the details, or with data of another form
// unchanged. It is empty if there is none.
func (r Refusal) Words() string {
	var data Details
	if json.Unmarshal(r.Data, &data) != nil || data.Details == "" && string(r.Data) != "null" {
		data.Details = string(r.Data)
	}
	if strings.Contains(r.Message, data.Details) { // said twice, for clients that show only one of them
		return strings.Trim(r.Message, ": ")
	}
	return strings.Trim(r.Message+": "+data.Details, ": ")
}

// NoFile reports whether the client has no file of that name. Most clients report that only in
// their text.
func (r Refusal) NoFile() bool {
	words := strings.ToLower(r.Words())
	return r.Code == CodeNotFound || strings.Contains(words, "enoent") || strings.Contains(words, "no such file")
}
