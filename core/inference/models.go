package inference

import (
	"cmp"
	"context"
	"errors"
	"slices"

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

// Effort returns the effort that the model is asked for in a session that has chosen one: that one if
// the model knows it, else none.
func (i ModelInfo) Effort(chosen string) string {
	if slices.Contains(i.Efforts, chosen) {
		return chosen
	}
	return ""
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
	// asks for: an editor, an MCP server; nil: there is none. It asks nobody. Its error is for the user.
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

// Info describes a model, also one that is not in the list. Of one that cannot be found it has the id
// alone.
func (m Models) Info(id string) ModelInfo {
	for _, i := range m.List {
		if i.ID == id {
			return i
		}
	}
	if found, err := m.Model(context.Background(), id); err == nil { // it waits for nothing
		return found.Info()
	}
	return ModelInfo{ID: id}
}

// Next returns the model that a session with these settings asks next, as PROVIDER/MODEL: the
// session's own choice, else its agent's, else the default. The model of an agent that is only handed
// tasks counts more than the session's, which comes from the delegating session. Everything that
// names a session's model takes it from here. Empty: there is none, or the agent is an external one,
// whose models are among its options (core.Offered).
func Next(p *core.Profile, set core.Settings) string {
	models := ModelsOf(p)
	byDefault := models.Default
	if byDefault == "" && len(models.List) > 0 {
		byDefault = models.List[0].ID
	}
	if p == nil {
		return set.Model
	}
	agent, _ := p.Agent(set.Agent)
	chosen := slices.ContainsFunc(p.Agents, func(a core.Agent) bool { return a.Name == agent.Name })
	switch {
	case agent.External:
		return ""
	case agent.Model != "" && !chosen:
		return agent.Model
	}
	return cmp.Or(set.Model, agent.Model, byDefault)
}

// ForTask returns the settings of a task that a session with these settings hands to an agent. The
// wanted model may be empty: then it is that of the session.
func ForTask(p *core.Profile, set core.Settings, agent, wanted string) core.Settings {
	from, _ := p.Agent(set.Agent)
	set.Agent, set.Model = agent, cmp.Or(wanted, set.Model, from.Model)
	return set
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

// Chosen finds the model that a session asks next. Its error is for the user.
func Chosen(ctx context.Context, h Host) (Model, error) {
	prof, err := h.Profile(ctx)
	if err != nil {
		return nil, err
	}
	return ModelsOf(prof).Model(ctx, Next(prof, h.Settings()))
}
