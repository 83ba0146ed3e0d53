package acp

import (
	"encoding/json"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// Version is the protocol version that is spoken.
const Version = 1

// Types that are correct in the official library.
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

	KindSwitchMode = sdk.ToolKindSwitchMode // core has no word for it

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

// InitializeRequest holds the params of `initialize`. Info is version 2's name for ClientInfo.
type InitializeRequest struct {
	ProtocolVersion    json.RawMessage `json:"protocolVersion"`    // an integer
	ClientCapabilities json.RawMessage `json:"clientCapabilities"` // a ClientCapabilities; an invalid one counts as none
	ClientInfo         *Implementation `json:"clientInfo"`
	Info               *Implementation `json:"info"`
	Meta               json.RawMessage `json:"_meta"`
}

// ClientCapabilities lists the editor's features. Everything is optional.
type ClientCapabilities struct {
	FS struct {
		ReadTextFile  Flag `json:"readTextFile"`
		WriteTextFile Flag `json:"writeTextFile"`
	} `json:"fs"`
	Terminal    Flag `json:"terminal"`
	Elicitation struct {
		Form Flag `json:"form"`
		URL  Flag `json:"url"`
	} `json:"elicitation"`
	Session struct {
		ConfigOptions struct {
			Boolean Flag `json:"boolean"`
		} `json:"configOptions"`
		Compaction Flag `json:"compaction"`
		Notices    Flag `json:"notices"`
	} `json:"session"`
	Plan      Flag `json:"plan"` // unstable: plan_update and plan_removed
	Subagents Flag `json:"subagents"`
	Auth      struct {
		Terminal Flag `json:"terminal"`
	} `json:"auth"`
	Meta struct {
		TerminalOutput Flag `json:"terminal_output"` // an agent's own terminals are shown (Zed)
	} `json:"_meta"`
}

// Flag is a capability: true or an object. null and false mean that it is missing.
type Flag bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *Flag) UnmarshalJSON(b []byte) error {
	*f = string(b) != "null" && string(b) != "false"
	return nil
}

// InitializeResponse answers `initialize`.
type InitializeResponse struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AgentInfo         Implementation    `json:"agentInfo"`
	AuthMethods       []AuthMethod      `json:"authMethods"`
}

// Marker is an empty object that means "supported".
type Marker struct{}

// AgentCapabilities lists the features of this side.
type AgentCapabilities struct {
	LoadSession         bool                `json:"loadSession"`
	PromptCapabilities  PromptCapabilities  `json:"promptCapabilities"`
	MCPCapabilities     MCPCapabilities     `json:"mcpCapabilities"`
	SessionCapabilities SessionCapabilities `json:"sessionCapabilities"`
	Providers           *Marker             `json:"providers,omitempty"` // unstable
	Auth                *AuthCapabilities   `json:"auth,omitempty"`
}

// PromptCapabilities lists the content that a prompt may have besides text and links.
type PromptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

// MCPCapabilities lists the transports of MCP servers that clients may add.
type MCPCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// SessionCapabilities lists the optional session methods.
type SessionCapabilities struct {
	List                  *Marker                   `json:"list,omitempty"`
	Resume                *Marker                   `json:"resume,omitempty"`
	Close                 *Marker                   `json:"close,omitempty"`
	Delete                *Marker                   `json:"delete,omitempty"`
	AdditionalDirectories *Marker                   `json:"additionalDirectories,omitempty"`
	Fork                  *Marker                   `json:"fork,omitempty"`    // unstable, like the following
	Archive               *Marker                   `json:"archive,omitempty"` // session/archive, session/unarchive and the member "archived"
	Status                *Marker                   `json:"status,omitempty"`  // session/status
	Title                 *Marker                   `json:"title,omitempty"`   // session/set_title
	SystemPrompt          *SystemPromptCapabilities `json:"systemPrompt,omitempty"`
}

// SessionRequest holds the params of `session/new` (without SessionID), `session/load`,
// `session/resume` and `session/fork`.
type SessionRequest struct {
	SessionID             string        `json:"sessionId"`
	Cwd                   string        `json:"cwd"`
	AdditionalDirectories []string      `json:"additionalDirectories"`
	MCPServers            []MCPServer   `json:"mcpServers"`
	SystemPrompt          *SystemPrompt `json:"systemPrompt"` // unstable
}

// SystemPrompt is a client's text for the system prompt of a session.
type SystemPrompt struct {
	Mode    string         `json:"mode"`
	Content []ContentBlock `json:"content"` // texts
}

// Values of SystemPrompt.Mode.
const (
	SystemAppend   = "append"
	SystemOverride = "override"
)

// SystemPromptCapabilities lists the modes besides SystemAppend.
type SystemPromptCapabilities struct {
	Mode struct {
		Override *Marker `json:"override,omitempty"`
	} `json:"mode"`
}

// Transports of an MCPServer.
const (
	ServerStdio = "stdio" // the type that version 2 and some clients write for a program
	ServerHTTP  = "http"
	ServerSSE   = "sse"
)

// MCPServer is an MCP server that a client adds to a session. Without a Type it is a program
// (Command, Args, Env), otherwise "http" or "sse" (URL, Headers).
type MCPServer struct {
	Type    string  `json:"type,omitempty"`
	Name    string  `json:"name"`
	Command string  `json:"command,omitempty"`
	Args    Strings `json:"args,omitempty"`
	Env     []Pair  `json:"env,omitempty"`
	URL     string  `json:"url,omitempty"`
	Headers []Pair  `json:"headers,omitempty"`
}

// Transport returns the type of a server.
func (m MCPServer) Transport() string {
	if m.Type == "" {
		return ServerStdio
	}
	return m.Type
}

// Strings is a list of strings.
type Strings = []string

// Pair is a variable of an environment or a header.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SessionResponse answers `session/new` and `session/fork`, and without SessionID
// `session/load` and `session/resume`.
type SessionResponse struct {
	SessionID     string         `json:"sessionId,omitempty"`
	Modes         *ModeState     `json:"modes,omitempty"`
	ConfigOptions []ConfigOption `json:"configOptions,omitempty"`
	Models        *ModelState    `json:"models,omitempty"` // no longer in the schema, but still read
}

// SessionID holds the params of `session/close`, `session/delete` and `session/cancel`.
type SessionID struct {
	SessionID string `json:"sessionId"`
}

// ListRequest holds the params of `session/list`.
type ListRequest struct {
	Cwd      *string `json:"cwd"`
	Cursor   *string `json:"cursor"`
	Archived *string `json:"archived"` // unstable; absent: ArchivedExclude
}

// Values of ListRequest.Archived.
const (
	ArchivedExclude = "exclude"
	ArchivedInclude = "include"
	ArchivedOnly    = "only"
)

// ListResponse answers `session/list`.
type ListResponse struct {
	Sessions   []SessionInfo `json:"sessions"`
	NextCursor string        `json:"nextCursor,omitempty"`
	Meta       *ListMeta     `json:"_meta,omitempty"` // of a list that lacks sessions
}

// ListMeta says that a list lacks sessions, because it is being rebuilt.
type ListMeta struct {
	Dragoman struct {
		Incomplete bool `json:"incomplete"`
	} `json:"dragoman"`
}

// SessionInfo is one entry of the list. UpdatedAt is RFC 3339.
type SessionInfo struct {
	SessionID             string   `json:"sessionId"`
	Cwd                   string   `json:"cwd"`
	Title                 string   `json:"title,omitempty"`
	UpdatedAt             string   `json:"updatedAt,omitempty"`
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
	Archived              bool     `json:"archived"` // unstable; required of agents that archive
}

// SetTitleRequest holds the params of `session/set_title`. The title is required.
type SetTitleRequest struct {
	SessionID string  `json:"sessionId"`
	Title     *string `json:"title"`
}

// SetTitleResponse answers it, with the title as it was stored.
type SetTitleResponse struct {
	Title string `json:"title"`
}

// StatusResponse answers `session/status`.
type StatusResponse struct {
	Status string      `json:"status"`
	Meta   *StatusMeta `json:"_meta,omitempty"` // of a session that is open
}

// StatusMeta says what happens in a session.
type StatusMeta struct {
	Dragoman struct {
		Running bool `json:"running"` // a turn runs
		Waiting bool `json:"waiting"` // something waits for a person
	} `json:"dragoman"`
}

// Values of StatusResponse.Status.
const (
	SessionOpen  = "open" // in memory, for any connection
	SessionSaved = "saved"
)

// PromptRequest holds the params of `session/prompt`.
type PromptRequest struct {
	SessionID string         `json:"sessionId"`
	Prompt    []ContentBlock `json:"prompt"`
}

// PromptResponse answers `session/prompt`.
type PromptResponse struct {
	StopReason StopReason `json:"stopReason"`
	Usage      *Usage     `json:"usage,omitempty"` // of the turn; unstable
}

// Usage counts tokens.
type Usage struct {
	Total      int  `json:"totalTokens"`
	In         int  `json:"inputTokens"`
	Out        int  `json:"outputTokens"`
	Thought    *int `json:"thoughtTokens,omitempty"`
	CacheRead  *int `json:"cachedReadTokens,omitempty"`
	CacheWrite *int `json:"cachedWriteTokens,omitempty"`
}

// CancelRequest holds the params of `$/cancel_request`.
type CancelRequest struct {
	RequestID json.RawMessage `json:"requestId"`
}

// PermissionRequest holds the params of `session/request_permission`.
type PermissionRequest struct {
	SessionID string             `json:"sessionId"`
	ToolCall  ToolCall           `json:"toolCall"`
	Options   []PermissionOption `json:"options"`
}

// PermissionOption is one possible answer.
type PermissionOption struct {
	OptionID string         `json:"optionId"`
	Name     string         `json:"name"`
	Kind     PermissionKind `json:"kind"`
}

// PermissionResponse answers `session/request_permission`: Outcome is "selected", with OptionID,
// or "cancelled".
type PermissionResponse struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

// ReadTextFile holds the params of `fs/read_text_file`.
type ReadTextFile struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"` // 1-based
	Limit     int    `json:"limit,omitempty"`
}

// FileContent answers `fs/read_text_file`.
type FileContent struct {
	Content *string `json:"content"` // required; nil: the client's answer has another form
}

// WriteTextFile holds the params of `fs/write_text_file`.
type WriteTextFile struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
}

// ElicitationRequest holds the params of `elicitation/create` in the mode "form".
type ElicitationRequest struct {
	Mode            string            `json:"mode"`
	SessionID       string            `json:"sessionId,omitempty"`
	RequestID       json.RawMessage   `json:"requestId,omitempty"` // of the client's request that it belongs to, without a session
	ToolCallID      string            `json:"toolCallId,omitempty"`
	Message         string            `json:"message"`
	RequestedSchema ElicitationSchema `json:"requestedSchema"`
}

// PageRequest holds the params of `elicitation/create` in the mode "url". A client that accepts
// it has only agreed to open the page.
type PageRequest struct {
	Mode          string          `json:"mode"`
	SessionID     string          `json:"sessionId,omitempty"`
	RequestID     json.RawMessage `json:"requestId,omitempty"` // of the client's request that it belongs to, without a session
	ToolCallID    string          `json:"toolCallId,omitempty"`
	Message       string          `json:"message"`
	ElicitationID string          `json:"elicitationId"`
	URL           string          `json:"url"`
}

// ElicitationSchema is the form: an object of plain properties.
type ElicitationSchema struct {
	Type       string              `json:"type"`
	Properties ElicitationProperty `json:"properties"`
	Required   Strings             `json:"required,omitempty"`
}

// ElicitationProperty holds the fields of a form by name.
type ElicitationProperty = map[string]StringField

// StringField is a field that takes text, or one of OneOf.
type StringField struct {
	Type        string       `json:"type"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	OneOf       []EnumOption `json:"oneOf,omitempty"`
}

// EnumOption is one possible value of a field.
type EnumOption struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

// ElicitationResponse answers `elicitation/create`: Action is "accept", with Content, "decline"
// or "cancel".
type ElicitationResponse struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content"` // an object: the values by field name
}

// PlanStatus and PlanPriority classify a step of a plan.
type (
	PlanStatus   = sdk.PlanEntryStatus
	PlanPriority = sdk.PlanEntryPriority
)

// Stamp formats a time for the protocol, in RFC 3339; the zero time is empty.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
