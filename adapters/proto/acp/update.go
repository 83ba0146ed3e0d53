package acp

import (
	"encoding/base64"
	"encoding/json"
)

// ContentBlock is content of any type, flat: Type determines which fields are used (text, image,
// audio, resource_link, resource).
type ContentBlock struct {
	Type        string    `json:"type"`
	Text        *string   `json:"text,omitempty"`
	Data        Data      `json:"data,omitempty"`
	MIMEType    string    `json:"mimeType,omitempty"`
	URI         string    `json:"uri,omitempty"`
	Name        string    `json:"name,omitempty"`
	Title       string    `json:"title,omitempty"`
	Description string    `json:"description,omitempty"`
	Size        *int64    `json:"size,omitempty"`
	Resource    *Resource `json:"resource,omitempty"`
}

// Resource is embedded content: text or base64 blob.
type Resource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *Data   `json:"blob,omitempty"` // not to a nil Data
}

// Data is the content of a picture, a sound or a file: in JSON a string of base64. It is decoded where it
// stands in the message, because a copy of it may be large.
type Data []byte

// UnmarshalText implements encoding.TextUnmarshaler. A text that is no base64 makes Data bad and is no error, so
// that the reader of the block can name it, or do without.
func (d *Data) UnmarshalText(text []byte) error {
	*d = make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(*d, text)
	switch {
	case err != nil:
		*d = Data{}
	case n == 0:
		*d = nil
	default:
		*d = (*d)[:n]
	}
	return nil
}

// Bad reports whether the text was no base64.
func (d Data) Bad() bool { return d != nil && len(d) == 0 }

// Content returns the bytes, which are not nil.
func (d Data) Content() []byte {
	if d == nil {
		return []byte{}
	}
	return d
}

// ToolContent is one piece of a tool call's content: "content", "diff" or
// "terminal".
type ToolContent struct {
	Type       string        `json:"type"`
	Content    *ContentBlock `json:"content,omitempty"`
	Path       string        `json:"path,omitempty"`    // in a diff: absolute
	OldText    *string       `json:"oldText,omitempty"` // nil: a new file
	NewText    *string       `json:"newText,omitempty"`
	TerminalID string        `json:"terminalId,omitempty"`
}

// ToolLocation is a place that a tool call works on. Line is 1-based.
type ToolLocation struct {
	Path string `json:"path"`
	Line *int   `json:"line,omitempty"`
}

// ToolCall holds the updates `tool_call` and `tool_call_update`, and the subject of a permission
// request. Absent fields are unchanged; Content and Locations replace.
type ToolCall struct {
	SessionUpdate string          `json:"sessionUpdate,omitempty"`
	ToolCallID    string          `json:"toolCallId"`
	Name          string          `json:"name,omitempty"`
	Title         string          `json:"title,omitempty"`
	Kind          ToolKind        `json:"kind,omitempty"`
	Status        ToolStatus      `json:"status,omitempty"`
	Content       []ToolContent   `json:"content,omitempty"`
	Locations     []ToolLocation  `json:"locations,omitempty"`
	RawInput      json.RawMessage `json:"rawInput,omitempty"`
	RawOutput     json.RawMessage `json:"rawOutput,omitempty"`
	Meta          any             `json:"_meta,omitempty"` // a *TerminalMeta, or an agent's own as JSON
}

// TerminalMeta shows a terminal of the agent's own (Zed).
type TerminalMeta struct {
	Info   *TerminalInfo   `json:"terminal_info,omitempty"`
	Output *TerminalOutput `json:"terminal_output,omitempty"`
	Exit   *TerminalExit   `json:"terminal_exit,omitempty"`
}

// TerminalInfo creates one.
type TerminalInfo struct {
	TerminalID string `json:"terminal_id"`
	Cwd        string `json:"cwd,omitempty"`
}

// TerminalOutput appends output to one.
type TerminalOutput struct {
	TerminalID string `json:"terminal_id"`
	Data       string `json:"data"`
}

// TerminalExit ends it.
type TerminalExit struct {
	TerminalID string  `json:"terminal_id"`
	ExitCode   *int    `json:"exit_code"`
	Signal     *string `json:"signal"`
}

// Names of updates.
const (
	UserChunk    = "user_message_chunk"
	AgentChunk   = "agent_message_chunk"
	ThoughtChunk = "agent_thought_chunk"
	ToolCallNew  = "tool_call"
	ToolCallMore = "tool_call_update"

	UpdateUsage      = "usage_update"
	UpdateNotice     = "notice"
	UpdateCompaction = "compaction_update"
	CompactionChunk  = "compaction_summary_chunk"
	UpdatePlan       = "plan_update" // unstable, like the next one
	UpdatePlanGone   = "plan_removed"
)

// Chunk is a piece of a message.
type Chunk struct {
	SessionUpdate string       `json:"sessionUpdate"`
	Content       ContentBlock `json:"content"`
	MessageID     string       `json:"messageId,omitempty"`
}

// Plan is the update `plan`: the whole plan.
type Plan struct {
	SessionUpdate string      `json:"sessionUpdate"`
	Entries       []PlanEntry `json:"entries"`
}

// UsageUpdate is the update `usage_update`: tokens in the context.
type UsageUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Used          int    `json:"used"`
	Size          int    `json:"size"`
	Cost          *Cost  `json:"cost,omitempty"`
}

// InfoUpdate is the update `session_info_update`.
type InfoUpdate struct {
	SessionUpdate string  `json:"sessionUpdate"`
	Title         *string `json:"title"`               // null: the title was removed
	UpdatedAt     string  `json:"updatedAt,omitempty"` // RFC 3339
}

// UsedUpdate is the update `session_info_update` of a session that was used; its title stays.
type UsedUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	UpdatedAt     string `json:"updatedAt"` // RFC 3339
}

// PresentUpdate is the update `session_info_update` that lists the clients of a session; the rest stays.
type PresentUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Meta          struct {
		Dragoman struct {
			Clients any `json:"clients"`
		} `json:"dragoman"`
	} `json:"_meta"`
}

// ModeUpdate is the update `current_mode_update`.
type ModeUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	CurrentModeID string `json:"currentModeId"`
}

// OptionsUpdate is the update `config_option_update`: all options.
type OptionsUpdate struct {
	SessionUpdate string         `json:"sessionUpdate"`
	ConfigOptions []ConfigOption `json:"configOptions"`
}

// Notice is the update `notice`, for clients with `session.notices`.
type Notice struct {
	SessionUpdate string `json:"sessionUpdate"`
	Severity      string `json:"severity"` // info, warning or error
	Title         string `json:"title"`
	Description   string `json:"description,omitempty"`
}

// CompactionUpdate is the update `compaction_update`, for clients with `session.compaction`.
type CompactionUpdate struct {
	SessionUpdate string         `json:"sessionUpdate"`
	CompactionID  string         `json:"compactionId"`
	Status        string         `json:"status"`
	Summary       []ContentBlock `json:"summary,omitempty"`
}

// CompactionSummary is the update `compaction_summary_chunk`: a piece of the summary.
type CompactionSummary struct {
	CompactionID string       `json:"compactionId"`
	Content      ContentBlock `json:"content"`
}

// CommandsUpdate is the update `available_commands_update`: the whole list.
type CommandsUpdate struct {
	SessionUpdate     string             `json:"sessionUpdate"`
	AvailableCommands []AvailableCommand `json:"availableCommands"`
}

// AvailableCommand is one entry. Name is without the slash.
type AvailableCommand struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *CommandInput `json:"input,omitempty"`
}

// CommandInput describes the text after the name.
type CommandInput struct {
	Hint string `json:"hint"`
}
