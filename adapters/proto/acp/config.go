package acp

import "encoding/json"

// ModeState lists the modes of a session and names the current one.
type ModeState struct {
	CurrentModeID  string `json:"currentModeId"`
	AvailableModes []Mode `json:"availableModes"`
}

// Mode is one mode.
type Mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// ModelState was sent as `models` before configuration options replaced it. Today's clients still
// read it.
type ModelState struct {
	CurrentModelID  string  `json:"currentModelId"`
	AvailableModels []Model `json:"availableModels"`
}

// Model is one model that can be chosen.
type Model struct {
	ModelID     string `json:"modelId"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Categories of configuration options.
const (
	CategoryMode    = "mode"
	CategoryModel   = "model"
	CategoryThought = "thought_level"
)

// ConfigOption is one choice. Type "select" has a string as CurrentValue and Options, "boolean"
// has true or false.
type ConfigOption struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Description  string         `json:"description,omitempty"`
	Category     string         `json:"category,omitempty"`
	Type         string         `json:"type"`
	CurrentValue any            `json:"currentValue"`
	Options      []SelectOption `json:"options,omitempty"`
}

// SelectOption is one value of a "select", or a group of values: then Group is its id, and Options
// has them. All entries of a list are values or all are groups.
type SelectOption struct {
	Value       string         `json:"value,omitempty"`
	Group       string         `json:"group,omitempty"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Options     []SelectOption `json:"options,omitempty"`
}

// SetModeRequest holds the params of `session/set_mode`.
type SetModeRequest struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

// SetModelRequest holds the params of `session/set_model`.
type SetModelRequest struct {
	SessionID string `json:"sessionId"`
	ModelID   string `json:"modelId"`
}

// SetConfigOptionRequest holds the params of `session/set_config_option`. Value is a string, or
// for a "boolean" true or false.
type SetConfigOptionRequest struct {
	SessionID string          `json:"sessionId"`
	ConfigID  string          `json:"configId"`
	Value     json.RawMessage `json:"value"`
}

// SetConfigOptionResponse answers it, with all options.
type SetConfigOptionResponse struct {
	ConfigOptions []ConfigOption `json:"configOptions"`
}
