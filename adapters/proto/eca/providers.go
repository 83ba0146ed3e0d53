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
	Login      *ProviderLogin  `json:"login,omitempty"`
	Models     []ProviderModel `json:"models"`
}

// AuthStatus is the status of the access to a provider.
type AuthStatus string

const (
	AuthAuthenticated   AuthStatus = "authenticated"
	AuthUnauthenticated AuthStatus = "unauthenticated"
	AuthLocal           AuthStatus = "local"
)

// AuthKey is the type of access by a key.
const AuthKey = "api-key"

// ProviderAuth is the access to a provider.
type ProviderAuth struct {
	Status AuthStatus `json:"status"`
	Type   string     `json:"type,omitempty"`
	Source string     `json:"source,omitempty"` // config, login, env
	EnvVar string     `json:"envVar,omitempty"`
}

// ProviderLogin lists the ways to log in.
type ProviderLogin struct {
	Methods []LoginMethod `json:"methods"`
}

// LoginMethod is one way to log in.
type LoginMethod struct {
	Key   string `json:"key"`
	Label string `json:"label"`
}

// LoginParams begins a login, or continues it with a method.
type LoginParams struct {
	Provider string  `json:"provider"`
	Method   *string `json:"method,omitempty"`
}

// LoginInputParams holds the user's input.
type LoginInputParams struct {
	Provider string            `json:"provider"`
	Data     map[string]string `json:"data"`
}

// LogoutParams ends an access.
type LogoutParams struct {
	Provider string `json:"provider"`
}

// LoginAction is the next action of the client.
type LoginAction string

const (
	LoginChoose    LoginAction = "choose-method"
	LoginInput     LoginAction = "input"
	LoginAuthorize LoginAction = "authorize"
	LoginDone      LoginAction = "done"
)

// LoginResult answers a step of a login. It is the union of the actions: each uses the fields
// whose comments name it.
type LoginResult struct {
	Action  LoginAction   `json:"action,omitempty"`
	Methods []LoginMethod `json:"methods,omitempty"` // choose-method
	URL     string        `json:"url,omitempty"`     // authorize
	Message string        `json:"message,omitempty"` // authorize
	Fields  []InputField  `json:"fields,omitempty"`  // input, authorize
	Error   *Fault        `json:"error,omitempty"`
}

// The types of an InputField.
const (
	InputSecret = "secret"
	InputText   = "text"
)

// InputField is a field for the user's input.
type InputField struct {
	Key   string `json:"key"`
	Label string `json:"label"`
	Type  string `json:"type"`
}

// Fault is an error within a result.
type Fault struct {
	Type    MessageType `json:"type"`
	Message string      `json:"message"`
}

// ProviderModel is a model of a provider; its id has no prefix.
type ProviderModel struct {
	ID           string       `json:"id"`
	Capabilities Capabilities `json:"capabilities"`
}

// Capabilities lists the features of a model.
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

// Job is a program that runs in the background of the chats.
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

// JobParams names a job.
type JobParams struct {
	JobID string `json:"jobId"`
}

// JobsKillResult answers jobs/kill.
type JobsKillResult struct {
	Killed bool `json:"killed"`
}

// JobOutputResult answers jobs/readOutput.
type JobOutputResult struct {
	Lines    []JobLine `json:"lines"`
	Status   string    `json:"status"`
	ExitCode *int      `json:"exitCode"`
}

// The streams of a JobLine.
const (
	StreamOut = "stdout"
	StreamErr = "stderr"
)

// JobLine is a line of a job's output.
type JobLine struct {
	Text   string `json:"text"`
	Stream string `json:"stream"`
}
