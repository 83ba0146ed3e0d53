package acp

// Types of an AuthMethod. Without one the agent handles it, in `authenticate`.
const AuthTerminal = "terminal"

// AuthMethod is a way to sign in. The client runs one of type AuthTerminal itself, in a terminal:
// the agent's own command with Args appended.
type AuthMethod struct {
	Type        string            `json:"type,omitempty"`
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Args        Strings           `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
}

// AuthCapabilities lists the optional methods about signing in.
type AuthCapabilities struct {
	Logout *Marker `json:"logout,omitempty"`
	Status *Marker `json:"status,omitempty"` // unstable
}

// AuthenticateRequest holds the params of `authenticate`.
type AuthenticateRequest struct {
	MethodID string `json:"methodId"`
}

// States of an AuthStatus.
const (
	Authenticated   = "authenticated"
	Unauthenticated = "unauthenticated"
	AuthNotRequired = "not_required"
	AuthUnknown     = "unknown"
)

// AuthStatus answers `auth/status`, and holds the params of `auth/status_update`.
type AuthStatus struct {
	State    string        `json:"state"`
	Accounts []AuthAccount `json:"accounts,omitempty"`
}

// AuthAccount is a key or an account, for display.
type AuthAccount struct {
	Label  string `json:"label"`
	Active bool   `json:"active,omitempty"`
}

// AuthRequired is the data of an error with CodeAuthRequired.
type AuthRequired struct {
	Details     string       `json:"details"`
	AuthMethods []AuthMethod `json:"authMethods"`
}

// AuthChanged is the notification of a status that has changed.
const AuthChanged = "auth/status_update"
