package acp

// Names of updates about subagents.
const (
	UpdateSubagent       = "subagent_update"
	UpdateSessionMessage = "session_message"
	SessionMessageChunk  = "session_message_chunk"
)

// SubagentUpdate announces the session of a subagent on that of its parent, or changes what was
// announced. A member that is left out stays as it is.
type SubagentUpdate struct {
	SessionUpdate string                `json:"sessionUpdate"`
	SessionID     string                `json:"sessionId"` // the subagent's
	Title         string                `json:"title,omitempty"`
	Description   string                `json:"description,omitempty"`
	Capabilities  *SubagentCapabilities `json:"capabilities,omitempty"`
	State         *SubagentState        `json:"state,omitempty"`
}

// SubagentCapabilities lists the requests that a client may send for a subagent's session.
type SubagentCapabilities struct {
	Cancel *Marker `json:"cancel,omitempty"`
}

// States of a subagent.
const (
	SubagentRunning        = "running"
	SubagentRequiresAction = "requires_action"
	SubagentIdle           = "idle"
)

// SubagentState says what a subagent does. StopReason is of SubagentIdle: one of a prompt's, or
// StopError.
type SubagentState struct {
	State      string     `json:"state"`
	StopReason StopReason `json:"stopReason,omitempty"`
}

// StopError is the reason of work that failed, which a prompt answers as an error.
const StopError StopReason = "error"

// SessionMessage is a message from one session to another. Its content comes in chunks.
type SessionMessage struct {
	SessionUpdate      string `json:"sessionUpdate"`
	MessageID          string `json:"messageId"`
	SenderSessionID    string `json:"senderSessionId,omitempty"`
	RecipientSessionID string `json:"recipientSessionId,omitempty"`
}
