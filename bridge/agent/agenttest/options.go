package agenttest

import (
	"encoding/json"
	"os"
)

// Variable is the environment variable with the agent's Options, as JSON.
const Variable = "SCRIPTED_AGENT"

// Options are the agent's capabilities and defaults.
type Options struct {
	Dir string `json:",omitempty"` // keeps its sessions for the next process; empty: they end with it

	Load, Resume, List, Close, Fork, Delete bool `json:",omitempty"`
	Images, Audio, Resources                bool `json:",omitempty"`
	HTTP, SSE                               bool `json:",omitempty"` // MCP servers at addresses

	// Auth are its ways to sign in, as in authMethods. With any of them, sessions and prompts need a login:
	// the file Login, or a variable that a method of type env_var names.
	Auth  []AuthMethod `json:",omitempty"`
	Login string       `json:",omitempty"`

	Modes    []string       `json:",omitempty"`
	Models   []string       `json:",omitempty"` // the old member `models`
	Config   []ConfigOption `json:",omitempty"`
	Refuse   []string       `json:",omitempty"` // values of options that are refused, as ID=VALUE
	Commands []Command      `json:",omitempty"`

	// Record is a file to which each message from the client is appended, and a line
	// `start PID` at the beginning.
	Record string `json:",omitempty"`
	// Faults are instructions for methods, separated by ";", which are followed before the method
	// is answered, or instead. "start" is followed before anything is read.
	Faults map[string]string `json:",omitempty"`
	// FaultsFile is a file with further Faults, as JSON, which is read at the start if it exists.
	FaultsFile string `json:",omitempty"`
}

// AuthMethod is a way to sign in. Type is "env_var", "terminal" or empty: the agent does it itself.
type AuthMethod struct {
	Type        string            `json:"type,omitempty"`
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Vars        []AuthVar         `json:"vars,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	Meta        json.RawMessage   `json:"_meta,omitempty"`
}

// AuthVar is a variable of an AuthMethod of type env_var.
type AuthVar struct {
	Name string `json:"name"`
}

// ConfigOption is an option of a session. Options is a list of values, or of groups of values.
type ConfigOption struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	Category     string          `json:"category,omitempty"`
	Type         string          `json:"type"` // select or boolean
	CurrentValue any             `json:"currentValue"`
	Options      json.RawMessage `json:"options,omitempty"`
}

// Command is a slash command.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Input       *Input `json:"input,omitempty"`
}

// Input describes a command's arguments.
type Input struct {
	Hint string `json:"hint"`
}

// SampleConfig has an option of each form: mode and effort have values, model has groups of values,
// and fast is boolean.
func SampleConfig() []ConfigOption {
	return []ConfigOption{
		{ID: "mode", Name: "Mode", Category: "mode", Type: "select", CurrentValue: "ask", Options: json.RawMessage(
			`[{"value":"ask","name":"Ask","description":"asks before each change"},{"value":"code","name":"Code"}]`)},
		{ID: "model", Name: "Model", Category: "model", Type: "select", CurrentValue: "small", Options: json.RawMessage(
			`[{"group":"near","name":"Near","options":[{"value":"small","name":"Small"}]},{"group":"far","name":"Far","options":[{"value":"large","name":"Large"},{"value":"huge","name":"Huge"}]}]`)},
		{ID: "effort", Name: "Effort", Category: "thought_level", Type: "select", CurrentValue: "low", Options: json.RawMessage(
			`[{"value":"low","name":"Low"},{"value":"high","name":"High"}]`)},
		{ID: "fast", Name: "Fast", Category: "model_config", Type: "boolean", CurrentValue: false},
	}
}

// Sample returns options for a person who tries the agent. Its sessions end with it.
func Sample() Options {
	return Options{
		Close: true, Images: true, Resources: true, HTTP: true, Config: SampleConfig(),
		Commands: []Command{{Name: "review", Description: "the agent's own command", Input: &Input{Hint: "what"}}},
	}
}

// Env returns the options as an environment variable, NAME=VALUE.
func (o Options) Env() string { return Variable + "=" + o.Value() }

// Value returns the options as the value of Variable.
func (o Options) Value() string {
	b, _ := json.Marshal(o) // it has no member that cannot be encoded
	return string(b)
}

// FromEnv returns the options in the environment, and whether there are any.
func FromEnv() (o Options, ok bool) {
	text, ok := os.LookupEnv(Variable)
	if ok && json.Unmarshal([]byte(text), &o) != nil {
		o.Faults = map[string]string{"start": "stderr the options are no JSON; exit 2"}
	}
	return o, ok
}
