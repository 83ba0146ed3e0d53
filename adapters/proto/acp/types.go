package acp

import (
	"encoding/json"

	sdk "github.com/coder/acp-go-sdk"
)

// Version is the protocol version that is spoken.
const Version = 1

// Types that the official library spells as the schema does.
type (
	ToolKind       = sdk.ToolKind
	ToolStatus     = sdk.ToolCallStatus
	StopReason     = sdk.StopReason
	PermissionKind = sdk.PermissionOptionKind
	PlanEntry      = sdk.PlanEntry
	Implementation = sdk.Implementation
	Cost           = sdk.Cost
)

// Values of those types.
const (
	StatusPending    = sdk.ToolCallStatusPending
	StatusInProgress = sdk.ToolCallStatusInProgress
	StatusCompleted  = sdk.ToolCallStatusCompleted
	StatusFailed     = sdk.ToolCallStatusFailed

	StopEndTurn   = sdk.StopReasonEndTurn
	StopMaxTokens = sdk.StopReasonMaxTokens
	StopMaxTurns  = sdk.StopReasonMaxTurnRequests
	StopRefusal   = sdk.StopReasonRefusal
	StopCancelled = sdk.StopReasonCancelled

	AllowOnce    = sdk.PermissionOptionKindAllowOnce
	AllowAlways  = sdk.PermissionOptionKindAllowAlways
	RejectOnce   = sdk.PermissionOptionKindRejectOnce
	RejectAlways = sdk.PermissionOptionKindRejectAlways
)

// Error codes beside those of JSON-RPC.
const (
	CodeAuthRequired = -32000
	CodeNotFound     = -32002
	CodeCancelled    = -32800
)

// InitializeRequest is `initialize`.
type InitializeRequest struct {
	ProtocolVersion    json.Number        `json:"protocolVersion"`
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
	ClientInfo         *Implementation    `json:"clientInfo"`
}

// ClientCapabilities is what the editor offers. Everything is optional.
type ClientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
}

// InitializeResponse answers it.
type InitializeResponse struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AgentInfo         Implementation    `json:"agentInfo"`
	AuthMethods       []struct{}        `json:"authMethods"`
}

// Marker is how an object says "supported".
type Marker struct{}

// AgentCapabilities is what this side offers.
type AgentCapabilities struct {
	LoadSession         bool                `json:"loadSession"`
	PromptCapabilities  PromptCapabilities  `json:"promptCapabilities"`
	MCPCapabilities     MCPCapabilities     `json:"mcpCapabilities"`
	SessionCapabilities SessionCapabilities `json:"sessionCapabilities"`
}

// PromptCapabilities is which content a prompt may hold beside text and links.
type PromptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

// MCPCapabilities is over which transports servers may be named.
type MCPCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// SessionCapabilities is which of the optional session methods exist.
type SessionCapabilities struct {
	List   *Marker `json:"list,omitempty"`
	Resume *Marker `json:"resume,omitempty"`
	Close  *Marker `json:"close,omitempty"`
	Delete *Marker `json:"delete,omitempty"`
}

// SessionRequest is `session/new` (without SessionID), `session/load` and
// `session/resume`.
type SessionRequest struct {
	SessionID             string            `json:"sessionId"`
	Cwd                   string            `json:"cwd"`
	AdditionalDirectories []string          `json:"additionalDirectories"`
	MCPServers            []json.RawMessage `json:"mcpServers"`
}

// NewSessionResponse answers `session/new`.
type NewSessionResponse struct {
	SessionID string `json:"sessionId"`
}

// SessionID is the parameter of `session/close`, `session/delete` and
// `session/cancel`.
type SessionID struct {
	SessionID string `json:"sessionId"`
}

// ListRequest is `session/list`.
type ListRequest struct {
	Cwd    *string `json:"cwd"`
	Cursor *string `json:"cursor"`
}

// ListResponse answers it.
type ListResponse struct {
	Sessions   []SessionInfo `json:"sessions"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// SessionInfo is one entry of the list. UpdatedAt is RFC 3339.
type SessionInfo struct {
	SessionID             string   `json:"sessionId"`
	Cwd                   string   `json:"cwd"`
	Title                 string   `json:"title,omitempty"`
	UpdatedAt             string   `json:"updatedAt,omitempty"`
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
}

// PromptRequest is `session/prompt`.
type PromptRequest struct {
	SessionID string         `json:"sessionId"`
	Prompt    []ContentBlock `json:"prompt"`
}

// PromptResponse answers it.
type PromptResponse struct {
	StopReason StopReason `json:"stopReason"`
}

// CancelRequest is `$/cancel_request`.
type CancelRequest struct {
	RequestID json.RawMessage `json:"requestId"`
}

// PermissionRequest is `session/request_permission`.
type PermissionRequest struct {
	SessionID string             `json:"sessionId"`
	ToolCall  ToolCall           `json:"toolCall"`
	Options   []PermissionOption `json:"options"`
}

// PermissionOption is one answer that is offered.
type PermissionOption struct {
	OptionID string         `json:"optionId"`
	Name     string         `json:"name"`
	Kind     PermissionKind `json:"kind"`
}

// PermissionResponse answers it: Outcome is "selected", with OptionID, or
// "cancelled".
type PermissionResponse struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

// ReadTextFile is `fs/read_text_file`.
type ReadTextFile struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"` // 1-based
	Limit     int    `json:"limit,omitempty"`
}

// FileContent answers it.
type FileContent struct {
	Content string `json:"content"`
}

// WriteTextFile is `fs/write_text_file`.
type WriteTextFile struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
}

// PlanStatus and PlanPriority grade a step of a plan.
type (
	PlanStatus   = sdk.PlanEntryStatus
	PlanPriority = sdk.PlanEntryPriority
)
