package eca

import "encoding/json"

// InitializeParams begins a connection.
type InitializeParams struct {
	ProcessID             *int64             `json:"processId,omitempty"`
	ClientInfo            *ClientInfo        `json:"clientInfo,omitempty"`
	InitializationOptions json.RawMessage    `json:"initializationOptions,omitempty"` // InitOptions, and today a layer of configuration
	Capabilities          ClientCapabilities `json:"capabilities"`
	WorkspaceFolders      []WorkspaceFolder  `json:"workspaceFolders"`
}

// ClientInfo names the client.
type ClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// InitOptions holds the initialization options that the protocol defines.
type InitOptions struct {
	ChatBehavior *string `json:"chatBehavior,omitempty"` // of 000 and 001
	ChatAgent    *string `json:"chatAgent,omitempty"`
}

// ClientCapabilities lists the client's features.
type ClientCapabilities struct {
	CodeAssistant *CodeAssistant `json:"codeAssistant,omitempty"`
}

// CodeAssistant lists capabilities. Those that only some documents have are raw: their presence
// distinguishes the documents.
type CodeAssistant struct {
	Chat             *bool             `json:"chat,omitempty"`
	Doc              json.RawMessage   `json:"doc,omitempty"`  // of 001
	Edit             json.RawMessage   `json:"edit,omitempty"` // of 001
	Fix              json.RawMessage   `json:"fix,omitempty"`  // of 001
	Editor           *EditorCaps       `json:"editor,omitempty"`
	Rewrite          json.RawMessage   `json:"rewrite,omitempty"`
	ChatCapabilities *ChatCapabilities `json:"chatCapabilities,omitempty"`
}

// EditorCaps lists the requests that the editor answers.
type EditorCaps struct {
	Diagnostics bool `json:"diagnostics,omitempty"`
	Definition  bool `json:"definition,omitempty"`
	References  bool `json:"references,omitempty"`
}

// ChatCapabilities lists the features of the client's chat.
type ChatCapabilities struct {
	AskQuestion bool `json:"askQuestion,omitempty"`
}

// WorkspaceFolder is a root of the workspace.
type WorkspaceFolder struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// InitializeResult is the superset of the documents' results: 001 has all of it, 000 nothing, and
// today's the welcome message and the members after it.
type InitializeResult struct {
	Models              []string   `json:"models"`
	ChatDefaultModel    string     `json:"chatDefaultModel"`
	ChatBehaviors       []string   `json:"chatBehaviors"`
	ChatDefaultBehavior string     `json:"chatDefaultBehavior"`
	ChatWelcomeMessage  string     `json:"chatWelcomeMessage"`
	ChatAgents          []string   `json:"chatAgents"`       // undocumented
	ChatDefaultAgent    string     `json:"chatDefaultAgent"` // undocumented
	ServerInfo          ServerInfo `json:"serverInfo"`       // undocumented
}

// ServerInfo names the server.
type ServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// FoldersChangedParams changes the workspace.
type FoldersChangedParams struct {
	Event struct {
		Added   []WorkspaceFolder `json:"added"`
		Removed []WorkspaceFolder `json:"removed"`
	} `json:"event"`
}

// ProgressType is the kind of a ProgressParams.
type ProgressType string

const (
	ProgressStart  ProgressType = "start"
	ProgressFinish ProgressType = "finish"
)

// ProgressParams reports the progress of a task at the start.
type ProgressParams struct {
	Type   ProgressType `json:"type"`
	TaskID string       `json:"taskId"`
	Title  string       `json:"title"`
}

// MessageType is the severity of a ShowMessageParams.
type MessageType string

const (
	MessageError   MessageType = "error"
	MessageWarning MessageType = "warning"
	MessageInfo    MessageType = "info"
)

// ShowMessageParams is a message for the user.
type ShowMessageParams struct {
	Type    MessageType `json:"type"`
	Message string      `json:"message"`
}
