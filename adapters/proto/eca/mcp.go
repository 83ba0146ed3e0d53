package eca

// ServerParams names an MCP server, for startServer, stopServer, connectServer,
// logoutServer, disableServer, enableServer and removeServer.
type ServerParams struct {
	Name string `json:"name"`
}

// The places where a new server is stored.
const (
	ScopeGlobal    = "global"
	ScopeWorkspace = "workspace"
)

// UpdateServerParams changes the command or the address of an MCP server.
type UpdateServerParams struct {
	Name    string   `json:"name"`
	Command *string  `json:"command,omitempty"`
	Args    []string `json:"args,omitzero"`
	URL     *string  `json:"url,omitempty"`
}

// AddServerParams describes a new MCP server.
type AddServerParams struct {
	Name         string            `json:"name"`
	Command      *string           `json:"command,omitempty"`
	Args         []string          `json:"args,omitzero"`
	Env          map[string]string `json:"env,omitempty"`
	URL          *string           `json:"url,omitempty"`
	Headers      map[string]string `json:"headers,omitempty"`
	ClientID     *string           `json:"clientId,omitempty"`
	ClientSecret *string           `json:"clientSecret,omitempty"`
	OAuthPort    *int              `json:"oauthPort,omitempty"`
	AuthScope    *string           `json:"authScope,omitempty"`
	Disabled     *bool             `json:"disabled,omitempty"`
	Scope        *string           `json:"scope,omitempty"` // global, the default, or workspace
	WorkspaceURI *string           `json:"workspaceUri,omitempty"`
}

// Refusal is an error within a result.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of refusals, known to clients.
const (
	RefusedNoChat  = "chat_not_found"
	RefusedCursor  = "cursor_expired"
	RefusedRequest = "invalid_request"
	RefusedFailed  = "internal_error"
)

// UpdateServerResult answers updateServer. Error is undocumented.
type UpdateServerResult struct {
	Error *Refusal `json:"error,omitempty"`
}

// AddServerResult answers addServer.
type AddServerResult struct {
	Server *ServerUpdatedParams `json:"server,omitempty"`
	Error  *Refusal             `json:"error,omitempty"`
}

// RemoveServerResult answers removeServer.
type RemoveServerResult struct {
	Name    string   `json:"name,omitempty"`
	Removed bool     `json:"removed,omitempty"`
	Error   *Refusal `json:"error,omitempty"`
}
