package eca

// ProvidersListResult answers providers/list.
type ProvidersListResult struct {
	Providers []ProviderStatus `json:"providers"`
}

// ProviderStatus is a provider of models.
type ProviderStatus struct {
	ID         string          `json:"id"`
	Label      string          `json:"label,omitempty"`
	Configured bool            `json:"configured"`
	Auth       ProviderAuth    `json:"auth"`
	Models     []ProviderModel `json:"models"`
}

// AuthStatus is how the access to a provider stands.
type AuthStatus string

const (
	AuthAuthenticated   AuthStatus = "authenticated"
	AuthUnauthenticated AuthStatus = "unauthenticated"
	AuthLocal           AuthStatus = "local"
)

// ProviderAuth is the access to a provider.
type ProviderAuth struct {
	Status AuthStatus `json:"status"`
}

// ProviderModel is a model of a provider; its id has no prefix.
type ProviderModel struct {
	ID           string       `json:"id"`
	Capabilities Capabilities `json:"capabilities"`
}

// Capabilities says what a model can do.
type Capabilities struct {
	Reason    bool `json:"reason"`
	Vision    bool `json:"vision"`
	Tools     bool `json:"tools"`
	WebSearch bool `json:"webSearch"`
}

// JobsListResult answers jobs/list.
type JobsListResult struct {
	Jobs []Job `json:"jobs"`
}

// Job is a program that runs beside the chats.
type Job struct {
	ID        string  `json:"id"`
	Type      string  `json:"type"`
	Status    string  `json:"status"` // running, completed, failed, killed
	Label     string  `json:"label"`
	Summary   *string `json:"summary"`
	StartedAt string  `json:"startedAt"` // ISO 8601
	Elapsed   string  `json:"elapsed"`
	ExitCode  *int    `json:"exitCode"`
	ChatID    string  `json:"chatId"`
	ChatLabel string  `json:"chatLabel"`
}
