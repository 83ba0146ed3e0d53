package eca

import "encoding/json"

// PromptParams holds a message of the user.
type PromptParams struct {
	ChatID   *string         `json:"chatId,omitempty"`
	Message  string          `json:"message"`
	Model    *string         `json:"model,omitempty"`
	Agent    *string         `json:"agent,omitempty"`
	Behavior *string         `json:"behavior,omitempty"` // of 000 and 001; today another name of agent
	Variant  *string         `json:"variant,omitempty"`
	Trust    *bool           `json:"trust,omitempty"`
	Contexts json.RawMessage `json:"contexts,omitempty"` // a list of Context
}

// PromptStatus is the outcome of a prompt.
type PromptStatus string

const (
	StatusSuccess   PromptStatus = "success" // of 001
	StatusPrompting PromptStatus = "prompting"
	StatusLogin     PromptStatus = "login"
	StatusFailed    PromptStatus = "error" // not in 000 and 001
)

// PromptResult answers a prompt.
type PromptResult struct {
	ChatID string       `json:"chatId"`
	Model  string       `json:"model"`
	Status PromptStatus `json:"status"`
}

// ChatParams names a chat, for the methods that need no more: promptStop,
// delete, cleared, opened, deleted.
type ChatParams struct {
	ChatID string `json:"chatId"`
}

// SaveSession remembers an approval for the session.
const SaveSession = "session"

// ApproveParams holds the decision on a tool call, in toolCallApprove and toolCallReject.
type ApproveParams struct {
	ChatID     string `json:"chatId"`
	ToolCallID string `json:"toolCallId"`
	Save       string `json:"save,omitempty"` // SaveSession, not in 001
}

// QueryParams asks for contexts, files or commands.
type QueryParams struct {
	ChatID *string `json:"chatId,omitempty"`
	Query  string  `json:"query"`
}

// QueryContextParams asks for contexts other than the given ones.
type QueryContextParams struct {
	ChatID   *string         `json:"chatId,omitempty"`
	Query    string          `json:"query"`
	Contexts json.RawMessage `json:"contexts,omitempty"` // a list of Context
}

// QueryContextResult answers queryContext.
type QueryContextResult struct {
	ChatID   *string `json:"chatId,omitempty"`
	Contexts []any   `json:"contexts"` // Context, CursorContext or ResourceContext
}

// QueryFilesResult answers queryFiles.
type QueryFilesResult struct {
	ChatID *string   `json:"chatId,omitempty"`
	Files  []Context `json:"files"`
}

// QueryCommandsResult answers queryCommands.
type QueryCommandsResult struct {
	ChatID   *string   `json:"chatId,omitempty"`
	Commands []Command `json:"commands"`
}

// Command is a command that a user may type after a slash.
type Command struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Type        string     `json:"type"` // native, mcpPrompt (mcp-prompt in 000 and 001), customPrompt, skill
	Arguments   []Argument `json:"arguments"`
}

// Argument is an argument of a command or a prompt.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
}

// ClearParams empties a chat.
type ClearParams struct {
	ChatID   string `json:"chatId"`
	Messages *bool  `json:"messages,omitempty"`
}

// UpdateParams changes a chat.
type UpdateParams struct {
	ChatID string  `json:"chatId"`
	Title  *string `json:"title,omitempty"`
	Trust  *bool   `json:"trust,omitempty"`
}

// ListParams asks for the chats of the workspace. A limit below 1 is none.
type ListParams struct {
	Limit  *float64 `json:"limit,omitempty"`
	SortBy *string  `json:"sortBy,omitempty"` // updatedAt, the default, or createdAt
}

// ListResult answers list.
type ListResult struct {
	Chats []ChatSummary `json:"chats"`
}

// ChatStatus is the activity of a chat.
type ChatStatus string

const (
	ChatIdle     ChatStatus = "idle"
	ChatRunning  ChatStatus = "running"
	ChatStopping ChatStatus = "stopping"
)

// ChatSummary is a chat in a list. Times are milliseconds since 1970.
type ChatSummary struct {
	ID           string     `json:"id"`
	Title        string     `json:"title,omitempty"`
	Status       ChatStatus `json:"status"`
	CreatedAt    int64      `json:"createdAt,omitempty"`
	UpdatedAt    int64      `json:"updatedAt,omitempty"`
	Model        string     `json:"model,omitempty"`
	MessageCount int        `json:"messageCount"`
}

// OpenParams asks for a stored chat. The paging of the history is optional.
type OpenParams struct {
	ChatID string          `json:"chatId"`
	Limit  *float64        `json:"limit,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// OpenResult answers open, after the whole replay.
type OpenResult struct {
	Found     bool       `json:"found"`
	ChatID    string     `json:"chatId,omitempty"`
	Title     string     `json:"title,omitempty"`
	Selection *Selection `json:"selection,omitempty"`
	Meta      *PageMeta  `json:"meta,omitempty"` // for a part of the chat
	Error     *Refusal   `json:"error,omitempty"`
}

// LastCompaction is a cursor: the place of the last compaction of the agent's memory.
const LastCompaction = "lastCompaction"

// PageMeta describes the visible part of a chat. A cursor is null if there is nothing more on its
// side.
type PageMeta struct {
	Total        int     `json:"total"`
	Returned     int     `json:"returned"`
	BeforeCursor *string `json:"beforeCursor"` // before: to the items before the part
	AfterCursor  *string `json:"afterCursor"`  // after: to the items after it

	CompactionCursor *string `json:"compactionCursor"` // the place of LastCompaction; null: none
}

// HistoryParams asks for a part of a chat.
type HistoryParams = OpenParams

// HistoryResult answers history. Each content is a ContentReceived.
type HistoryResult struct {
	Contents []json.RawMessage `json:"contents,omitzero"`
	Meta     *PageMeta         `json:"meta,omitempty"`
	Error    *Refusal          `json:"error,omitempty"`
}

// SteerParams holds a message to the running turn.
type SteerParams struct {
	ChatID  string `json:"chatId"`
	Message string `json:"message"`
}

// FlagParams marks a message, in addFlag, or removes the mark, in removeFlag.
type FlagParams struct {
	ChatID    string `json:"chatId"`
	ContentID string `json:"contentId"`
	Text      string `json:"text,omitempty"` // of addFlag
}

// ForkParams makes a new chat of the contents of a chat up to a given one.
type ForkParams struct {
	ChatID    string `json:"chatId"`
	ContentID string `json:"contentId"`
}

// RollbackParams goes back to a message.
type RollbackParams struct {
	ChatID    string   `json:"chatId"`
	ContentID string   `json:"contentId"`
	Include   []string `json:"include,omitempty"` // messages, tools; none: both
}

// Selection holds the choices of a chat.
type Selection struct {
	Model    string   `json:"model"`
	Agent    string   `json:"agent"`
	Variant  *string  `json:"variant"`
	Variants []string `json:"variants"`
	Trust    bool     `json:"trust"`
}

// ClearedParams announces that messages of a chat are gone.
type ClearedParams struct {
	ChatID   string `json:"chatId"`
	Messages bool   `json:"messages"`
}

// OpenedParams announces a chat that the client is to show.
type OpenedParams struct {
	ChatID string `json:"chatId"`
	Title  string `json:"title,omitempty"`
}

// StatusChangedParams announces the activity of a chat.
type StatusChangedParams struct {
	ChatID string     `json:"chatId"`
	Status ChatStatus `json:"status"`
}

// ModelSelectedParams announces the user's choice. Without a chat it is for all.
type ModelSelectedParams struct {
	ChatID  *string `json:"chatId,omitempty"`
	Model   string  `json:"model"`
	Variant *string `json:"variant,omitempty"`
}

// AgentSelectedParams announces the user's choice; Behavior is the name of the field in
// selectedBehaviorChanged.
type AgentSelectedParams struct {
	ChatID   *string `json:"chatId,omitempty"`
	Agent    *string `json:"agent,omitempty"`
	Behavior *string `json:"behavior,omitempty"`
}
