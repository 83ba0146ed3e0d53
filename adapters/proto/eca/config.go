package eca

// ConfigUpdatedParams announces the offer and the current choices. With a chat it applies only to
// that chat.
type ConfigUpdatedParams struct {
	ChatID string      `json:"chatId,omitempty"` // not in 000
	Chat   *ChatConfig `json:"chat,omitempty"`
}

// ChatConfig is the superset of the documents.
type ChatConfig struct {
	Models          []string `json:"models"`
	SelectModel     string   `json:"selectModel"`
	DefaultModel    string   `json:"defaultModel"`    // undocumented
	Agents          []string `json:"agents"`          // not in 000
	SelectAgent     string   `json:"selectAgent"`     // not in 000
	DefaultAgent    string   `json:"defaultAgent"`    // undocumented
	Behaviors       []string `json:"behaviors"`       // of 000
	SelectBehavior  string   `json:"selectBehavior"`  // of 000
	DefaultBehavior string   `json:"defaultBehavior"` // undocumented
	Variants        []string `json:"variants"`        // not in 000
	SelectVariant   *string  `json:"selectVariant"`   // not in 000
	SelectTrust     bool     `json:"selectTrust"`     // not in 000
	WelcomeMessage  string   `json:"welcomeMessage,omitempty"`
}

// The behaviors of 000 and 001.
const (
	BehaviorAgent = "agent"
	BehaviorPlan  = "plan"
)
