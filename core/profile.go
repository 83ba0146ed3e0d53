package core

import "time"

// Settings are what a user chooses for a session. Empty fields mean the
// profile's default.
type Settings struct {
	Agent  string `json:"agent,omitempty"`
	Model  string `json:"model,omitempty"` // PROVIDER/MODEL
	Effort string `json:"effort,omitempty"`
	Trust  bool   `json:"trust,omitempty"` // what would be asked is allowed
}

// Agent is something that runs turns, by name.
type Agent struct {
	Name        string
	Description string
	Backend     Backend
}

// Profile is what the configuration offers in a workspace. It is immutable: a
// reload makes a new one, which sessions take up at their next turn.
type Profile struct {
	Agents       []Agent // the first is the default
	Models       []ModelInfo
	DefaultModel string
	Toolboxes    []Toolbox
	Policy       Policy
	AskTimeout   time.Duration // until an Ask expires; 0: one hour
}

// Agent finds an agent; the empty name is the default one.
func (p *Profile) Agent(name string) (Agent, bool) {
	for _, a := range p.Agents {
		if name == "" || a.Name == name {
			return a, true
		}
	}
	return Agent{}, false
}
