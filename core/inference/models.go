package inference

import (
	"context"
	"errors"

	"dragoman/core"
)

// ModelInfo describes a model.
type ModelInfo struct {
	ID       string // PROVIDER/MODEL
	Name     string // for people
	Provider string
	Window   int // tokens; 0: unknown
	MaxOut   int // tokens; 0: unknown
	Tools    bool
	Images   bool
	Thinks   bool
	Offline  bool     // needs no network and is not a language model
	Efforts  []string // names of the reasoning efforts it knows
	Price    *Price   // nil: unknown
	MaxTools int      // in a request; 0: no limit is known
}

// Price is the price of a million tokens, in US dollars.
type Price struct {
	In, Out               float64
	CacheRead, CacheWrite float64 // of the tokens in
}

// Cost returns the cost of an answer. Usage.In includes cache reads and cache writes.
func (p Price) Cost(u core.Usage) float64 {
	plain := max(u.In-u.CacheRead-u.CacheWrite, 0)
	return (float64(plain)*p.In + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite + float64(u.Out)*p.Out) / 1e6
}

// EstimateTokens returns about how many tokens a model makes of a text of so many characters.
func EstimateTokens(chars int) int { return (chars + 3) / 4 }

// Models are the models of a profile (core.Profile.Models).
type Models struct {
	List    []ModelInfo
	Default string // PROVIDER/MODEL
	// Find finds a model by PROVIDER/MODEL, the empty id the default one, for those that no agent
	// asks for: an editor, an MCP server; nil: there is none. Its error is for the user.
	Find func(ctx context.Context, id string) (Model, error)
}

// Models implements core.Models. It does nothing.
func (Models) Models() {}

// ModelsOf returns the models of a profile, which may be nil; the zero value if it has none.
func ModelsOf(p *core.Profile) Models {
	if p == nil {
		return Models{}
	}
	m, _ := p.Models.(Models)
	return m
}

// Model finds a model as Find does. Its error is for the user.
func (m Models) Model(ctx context.Context, id string) (Model, error) {
	if m.Find == nil {
		return nil, errors.New("no language model is configured")
	}
	return m.Find(ctx, id)
}

// Host is the session in which a tool wants to ask a model; a core.ToolHost is one.
type Host interface {
	Profile(context.Context) (*core.Profile, error)
	Settings() core.Settings
}

// Chosen returns the model that was chosen in a session, else its profile's default. Its error is for
// the user.
func Chosen(ctx context.Context, h Host) (Model, error) {
	prof, err := h.Profile(ctx)
	if err != nil {
		return nil, err
	}
	return ModelsOf(prof).Model(ctx, h.Settings().Model)
}
