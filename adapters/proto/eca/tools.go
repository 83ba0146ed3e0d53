package eca

import "encoding/json"

// ServerType distinguishes the server's own tools from those of others.
type ServerType string

const (
	ServerNative ServerType = "native"
	ServerMCP    ServerType = "mcp"
)

// ServerUpdatedParams announces a tool server. Command and Args are set for servers that are
// programs; 000 and 001 require them.
type ServerUpdatedParams struct {
	Type     ServerType   `json:"type"`
	Name     string       `json:"name"`
	Command  *string      `json:"command,omitempty"`
	Args     []string     `json:"args,omitzero"`
	URL      string       `json:"url,omitempty"`
	Status   string       `json:"status"` // running, starting, stopped, failed, disabled; today also requires-auth
	Disabled *bool        `json:"disabled,omitempty"`
	HasAuth  *bool        `json:"hasAuth,omitempty"`
	Tools    []ServerTool `json:"tools"`

	Prompts   []ServerPrompt   `json:"prompts,omitzero"`   // not in 000 and 001
	Resources []ServerResource `json:"resources,omitzero"` // not in 000 and 001
}

// ServerPrompt is a prompt of an MCP server.
type ServerPrompt struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Arguments   []Argument `json:"arguments"`
}

// ServerResource is a resource of an MCP server.
type ServerResource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
}

// ServerTool is a tool in the list of its server.
type ServerTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema
	Disabled    bool            `json:"disabled,omitempty"`
}
