package eca

import "encoding/json"

// Role is the author of a content.
type Role string

const (
	RoleUser      Role = "user"
	RoleSystem    Role = "system"
	RoleAssistant Role = "assistant"
)

// ContentReceived holds the params of chat/contentReceived. Content is one of the types below,
// whose field Type is one of the constants.
type ContentReceived struct {
	ChatID       string `json:"chatId"`
	ParentChatID string `json:"parentChatId,omitempty"` // for a subagent's content; not in 000 and 001
	Role         Role   `json:"role"`
	Content      any    `json:"content"`
}

// The types of content, with the documents that have them.
const (
	TypeText             = "text"
	TypeProgress         = "progress"
	TypeReasonStarted    = "reasonStarted"
	TypeReasonText       = "reasonText"
	TypeReasonFinished   = "reasonFinished"
	TypeUsage            = "usage"
	TypeToolCallPrepare  = "toolCallPrepare"
	TypeToolCallRun      = "toolCallRun"
	TypeToolCallRunning  = "toolCallRunning" // not in 001
	TypeToolCalled       = "toolCalled"
	TypeToolCallRejected = "toolCallRejected"
	TypeMetadata         = "metadata" // not in 001
	TypeFlag             = "flag"     // not in 000 and 001
	TypeURL              = "url"
	TypeImage            = "image" // not in 000 and 001
)

// TextContent is text.
type TextContent struct {
	Type      string `json:"type"`
	ContentID string `json:"contentId,omitempty"` // for a user's text, not in 000 and 001
	Text      string `json:"text"`
}

// FlagContent marks the message before it.
type FlagContent struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	ContentID string `json:"contentId"` // the id of the mark
}

// URLContent names a page that the agent mentions.
type URLContent struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// ImageContent is an image.
type ImageContent struct {
	Type      string `json:"type"`
	MediaType string `json:"mediaType"`
	Base64    []byte `json:"base64"`
}

// ProgressState is the state of a turn.
type ProgressState string

const (
	ProgressRunning  ProgressState = "running"
	ProgressFinished ProgressState = "finished"
)

// ProgressContent describes the activity of the turn. A finished one ends it.
type ProgressContent struct {
	Type  string        `json:"type"`
	State ProgressState `json:"state"`
	Text  string        `json:"text"`
}

// ReasonContent begins, continues or ends a thought.
type ReasonContent struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	Text        string `json:"text,omitempty"`        // of TypeReasonText
	TotalTimeMs *int64 `json:"totalTimeMs,omitempty"` // of TypeReasonFinished, not in 001
}

// UsageContent counts tokens. Costs are numbers in US dollars, as text.
type UsageContent struct {
	Type                string `json:"type"`
	MessageInputTokens  int    `json:"messageInputTokens"`  // of 001
	MessageOutputTokens int    `json:"messageOutputTokens"` // of 001
	SessionTokens       int    `json:"sessionTokens"`
	MessageCost         string `json:"messageCost,omitempty"`     // of 001
	LastMessageCost     string `json:"lastMessageCost,omitempty"` // not in 001
	SessionCost         string `json:"sessionCost,omitempty"`
	Limit               *Limit `json:"limit,omitempty"` // not in 001

	AutoCompactPercentage int               `json:"autoCompactPercentage,omitempty"` // today's
	ContextBreakdown      *ContextBreakdown `json:"contextBreakdown,omitempty"`      // today's
}

// ContextBreakdown divides the window of a model.
type ContextBreakdown struct {
	Categories   []ContextCategory `json:"categories"`
	UsedTokens   int               `json:"usedTokens"`
	FreeTokens   *int              `json:"freeTokens,omitempty"`
	ContextLimit int               `json:"contextLimit,omitempty"`
	FreeColor    string            `json:"freeColor"`
	FreeEmoji    string            `json:"freeEmoji"`
}

// ContextCategory is a part of what fills a window, with its colour in bars and its sign in texts.
type ContextCategory struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Color  string `json:"color"`
	Emoji  string `json:"emoji"`
}

// Limit holds the maximum input and output of a model, in tokens.
type Limit struct {
	Context int `json:"context"`
	Output  int `json:"output"`
}

// ToolCallOrigin is the owner of a tool.
type ToolCallOrigin string

const (
	OriginNative ToolCallOrigin = "native"
	OriginMCP    ToolCallOrigin = "mcp"
)

// The server's own tools: their server in contents, and in tool/serverUpdated.
const (
	NativeServer      = "eca"
	NativeServerTitle = "ECA"
)

// ToolTask is a tool of NativeServer that all clients treat in a special way: it has no card in
// the chat, but fills the panel of tasks.
const ToolTask = "task"

// ToolCall holds the first members of all contents of a tool call.
type ToolCall struct {
	Type   string         `json:"type"`
	Origin ToolCallOrigin `json:"origin"`
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Server string         `json:"server"` // not in 001
}

// ToolCallPrepare announces a call whose arguments are arriving. ArgumentsText is a part, to be
// appended; in 001 it is all of it.
type ToolCallPrepare struct {
	ToolCall
	ArgumentsText  string `json:"argumentsText"`
	ManualApproval bool   `json:"manualApproval"` // of 001
	Summary        string `json:"summary,omitempty"`
	Details        any    `json:"details,omitempty"`
}

// ToolCallRun announces a call that is about to run, or waits for approval.
type ToolCallRun struct {
	ToolCall
	Arguments      json.RawMessage `json:"arguments"` // an object
	ManualApproval bool            `json:"manualApproval"`
	Summary        string          `json:"summary,omitempty"`
	Details        any             `json:"details,omitempty"`
}

// ToolCallRunning reports that a call runs.
type ToolCallRunning struct {
	ToolCall
	Arguments json.RawMessage `json:"arguments"` // an object
	Summary   string          `json:"summary,omitempty"`
	Details   any             `json:"details,omitempty"`
}

// ToolCalled reports the result of a call.
type ToolCalled struct {
	ToolCall
	Arguments   json.RawMessage `json:"arguments"` // an object
	Error       bool            `json:"error"`
	Outputs     []Output        `json:"outputs"`
	Output      string          `json:"output,omitempty"` // undocumented
	TotalTimeMs int64           `json:"totalTimeMs"`      // not in 001
	Summary     string          `json:"summary,omitempty"`
	Details     any             `json:"details,omitempty"`
}

// Output is a part of a call's result.
type Output struct {
	Type    string  `json:"type"` // always TypeText
	Text    string  `json:"text"`
	Content *string `json:"content,omitempty"` // the text of 001, which the Neovim client reads as well; nil for today's document
}

// RejectReason is the reason why a call did not run.
type RejectReason string

const (
	RejectUser       RejectReason = "userChoiceDeny"
	RejectConfig     RejectReason = "userConfigDeny"
	RejectStop       RejectReason = "userPromptStop"
	RejectUser000    RejectReason = "user-choice" // of 000
	RejectConfig000  RejectReason = "user-config" // of 000
	RejectAnybody001 RejectReason = "user"        // of 001
)

// ToolCallRejected reports that a call did not run.
type ToolCallRejected struct {
	ToolCall
	Arguments json.RawMessage `json:"arguments"` // an object
	Reason    RejectReason    `json:"reason"`
	Summary   string          `json:"summary,omitempty"`
	Details   any             `json:"details,omitempty"`
}

// TypeFileChange is the type of FileChange.
const TypeFileChange = "fileChange"

// FileChange holds the details of a call that changes a file.
type FileChange struct {
	Type         string `json:"type"`
	Path         string `json:"path"`
	Diff         string `json:"diff"` // unified
	LinesAdded   int    `json:"linesAdded"`
	LinesRemoved int    `json:"linesRemoved"`
}

// TypeShellCommand is the type of ShellCommand.
const TypeShellCommand = "shellCommand"

// ShellCommand holds the details of a call that runs a command line.
type ShellCommand struct {
	Type       string          `json:"type"`
	Commands   []SimpleCommand `json:"commands"`
	Background bool            `json:"background,omitempty"`
}

// SimpleCommand is one command of a line.
type SimpleCommand struct {
	Command     string   `json:"command"`
	Args        []string `json:"args"`
	ApprovalKey string   `json:"approvalKey,omitempty"` // the key for remembering an answer
	Remembered  bool     `json:"remembered"`            // the user has allowed it for the session
}

// TypeJSONOutputs is the type of JSONOutputs.
const TypeJSONOutputs = "jsonOutputs"

// JSONOutputs holds the details of a call that returned JSON.
type JSONOutputs struct {
	Type  string   `json:"type"`
	JSONs []string `json:"jsons"`
}

// TypeSubagent is the type of Subagent.
const TypeSubagent = "subagent"

// Subagent holds the details of a call that delegates a task to another agent.
type Subagent struct {
	Type           string `json:"type"`
	SubagentChatID string `json:"subagentChatId,omitempty"` // in the contents that belong to the call, once it runs
	AgentName      string `json:"agentName"`
	Model          string `json:"model"`
	Variant        string `json:"variant,omitempty"`
	MaxSteps       int    `json:"maxSteps,omitempty"`
	Step           int    `json:"step"`
}

// MetadataContent names the chat.
type MetadataContent struct {
	Type  string `json:"type"`
	Title string `json:"title"`
}

// TypeTask is the type of Task.
const TypeTask = "task"

// Task holds the details of a call of ToolTask: all of the agent's plan.
type Task struct {
	Type              string      `json:"type"`
	Tasks             []TaskItem  `json:"tasks"`
	InProgressTaskIDs []int       `json:"inProgressTaskIds"`
	Summary           TaskSummary `json:"summary"`
	ActiveSummary     string      `json:"activeSummary,omitempty"`
}

// TaskStatus is the status of a step.
type TaskStatus string

const (
	TaskPending    TaskStatus = "pending"
	TaskInProgress TaskStatus = "in-progress"
	TaskDone       TaskStatus = "done"
)

// TaskItem is one step.
type TaskItem struct {
	ID          int        `json:"id"`
	Subject     string     `json:"subject"`
	Description string     `json:"description"`
	Status      TaskStatus `json:"status"`
	Priority    string     `json:"priority"` // high, medium, low
	IsBlocked   bool       `json:"isBlocked"`
}

// TaskSummary counts the steps.
type TaskSummary struct {
	Done       int `json:"done"`
	InProgress int `json:"inProgress"`
	Pending    int `json:"pending"`
	Total      int `json:"total"`
}
