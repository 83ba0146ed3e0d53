package acp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/inference"
)

// Names of the configuration options.
const (
	optionAgent  = "agent"
	optionModel  = "model"
	optionEffort = "effort"
	optionTrust  = "trust"
)

// effortDefault means the model's own choice; the core's word is "".
const effortDefault = "default"

// Offer holds the possible choices in a session, in the protocol's words: the agents as modes and
// as an option, models, the efforts of a model, and trust. The three forms (modes, options,
// models) have the same content. It is immutable; nil offers nothing.
type Offer struct {
	profile *core.Profile
	boolean bool // the client shows boolean options
}

// NewOffer returns the offer of a profile.
func NewOffer(prof *core.Profile, boolean bool) *Offer { return &Offer{prof, boolean} }

func (o *Offer) agent(set core.Settings) string {
	if set.Agent == "" && len(o.profile.Agents) > 0 {
		return o.profile.Agents[0].Name
	}
	return set.Agent
}

func (o *Offer) model(set core.Settings) string {
	models := inference.ModelsOf(o.profile)
	if set.Model == "" && models.Default == "" && len(models.List) > 0 {
		return models.List[0].ID
	}
	return cmp.Or(set.Model, models.Default)
}

// agents lists the agents that can be selected. The selected one is included even if the
// configuration has dropped it. The list is nil when no agent is selected.
func (o *Offer) agents(set core.Settings) (list []acp.SelectOption) {
	for _, a := range o.profile.Agents {
		list = append(list, acp.SelectOption{Value: a.Name, Name: a.Name, Description: a.Description})
	}
	return with(list, o.agent(set), "Not configured any more")
}

// allModels lists the models that can be selected, as agents does.
func (o *Offer) allModels(set core.Settings) (list []acp.SelectOption) {
	for _, m := range inference.ModelsOf(o.profile).List {
		list = append(list, acp.SelectOption{Value: m.ID, Name: cmp.Or(m.Name, m.ID)})
	}
	return with(list, o.model(set), "")
}

// with adds the current choice to a list that does not have it.
func with(list []acp.SelectOption, chosen, description string) []acp.SelectOption {
	switch {
	case chosen == "":
		return nil
	case slices.ContainsFunc(list, func(s acp.SelectOption) bool { return s.Value == chosen }):
		return list
	}
	return append(list, acp.SelectOption{Value: chosen, Name: chosen, Description: description})
}

func (o *Offer) modes(set core.Settings) *acp.ModeState {
	if o == nil || o.agent(set) == "" {
		return nil
	}
	st := &acp.ModeState{CurrentModeID: o.agent(set)}
	for _, a := range o.agents(set) {
		st.AvailableModes = append(st.AvailableModes, acp.Mode{ID: a.Value, Name: a.Name, Description: a.Description})
	}
	return st
}

func (o *Offer) models(set core.Settings) *acp.ModelState {
	if o == nil || o.model(set) == "" {
		return nil
	}
	st := &acp.ModelState{CurrentModelID: o.model(set)}
	for _, m := range o.allModels(set) {
		st.AvailableModels = append(st.AvailableModels, acp.Model{ModelID: m.Value, Name: m.Name})
	}
	return st
}

// efforts lists the efforts of a model; none if it has no choice.
func (o *Offer) efforts(model string) []string {
	for _, m := range inference.ModelsOf(o.profile).List {
		if m.ID == model {
			return m.Efforts
		}
	}
	return nil
}

// options returns the configuration options with their values. The effort is an option only if
// the chosen model has a choice.
func (o *Offer) options(set core.Settings) []acp.ConfigOption {
	if o == nil {
		return nil
	}
	list := []acp.ConfigOption{}
	if agents := o.agents(set); agents != nil {
		list = append(list, acp.ConfigOption{
			ID:           optionAgent,
			Name:         "Agent",
			Description:  "Who answers",
			Category:     acp.CategoryMode,
			Type:         "select",
			CurrentValue: o.agent(set),
			Options:      agents,
		})
	}
	if models := o.allModels(set); models != nil {
		list = append(list, acp.ConfigOption{
			ID: optionModel, Name: "Model", Category: acp.CategoryModel, Type: "select",
			CurrentValue: o.model(set), Options: models,
		})
	}
	if efforts := o.efforts(o.model(set)); len(efforts) > 0 {
		opt := acp.ConfigOption{
			ID:           optionEffort,
			Name:         "Thinking effort",
			Category:     acp.CategoryThought,
			Type:         "select",
			CurrentValue: cmp.Or(set.Effort, effortDefault),
			Options:      []acp.SelectOption{{Value: effortDefault, Name: "Default"}},
		}
		for _, e := range efforts {
			opt.Options = append(opt.Options, acp.SelectOption{Value: e, Name: e})
		}
		list = append(list, opt)
	}
	return append(list, o.trust(set.Trust))
}

// trust returns a switch, or for a client that cannot show one, a choice of two.
func (o *Offer) trust(on bool) acp.ConfigOption {
	opt := acp.ConfigOption{
		ID:           optionTrust,
		Name:         "Trust",
		Description:  "Allow what would be asked for; what is forbidden stays so",
		Type:         "boolean",
		CurrentValue: on,
	}
	if o.boolean {
		return opt
	}
	opt.Type, opt.CurrentValue = "select", "off"
	if on {
		opt.CurrentValue = "on"
	}
	opt.Options = []acp.SelectOption{{Value: "off", Name: "Ask"}, {Value: "on", Name: "Trust"}}
	return opt
}

// set returns settings with one option changed. An error is the client's fault: an unknown option
// or value.
func (o *Offer) set(set core.Settings, id string, raw json.RawMessage) (core.Settings, error) {
	i := slices.IndexFunc(o.options(set), func(opt acp.ConfigOption) bool { return opt.ID == id })
	if i < 0 {
		return set, jrpc2.Errorf(jrpc2.InvalidParams, "configId: there is no option %.60q", id)
	}
	value, ok := valueOf(raw)
	opt := o.options(set)[i]
	switch {
	case id == optionTrust && (value == "on" || value == "true" || value == "off" || value == "false"):
	case !ok || !slices.ContainsFunc(opt.Options, func(s acp.SelectOption) bool { return s.Value == value }):
		return set, jrpc2.Errorf(jrpc2.InvalidParams, "value: option %q takes %s, not %.60s", id, values(opt), raw)
	}
	switch id {
	case optionAgent:
		if set.Agent = value; len(o.profile.Agents) > 0 && value == o.profile.Agents[0].Name {
			set.Agent = "" // the default, even if its name changes
		}
	case optionModel:
		if set.Model = value; !slices.Contains(o.efforts(value), set.Effort) {
			set.Effort = ""
		}
	case optionEffort:
		if set.Effort = value; value == effortDefault {
			set.Effort = ""
		}
	case optionTrust:
		set.Trust = value == "on" || value == "true"
	}
	return set, nil
}

// valueOf reads a value: a string, or true or false.
func valueOf(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, true
	}
	var b bool
	if json.Unmarshal(raw, &b) != nil {
		return "", false
	}
	if b {
		return "true", true
	}
	return "false", true
}

func values(opt acp.ConfigOption) string {
	if opt.Type == "boolean" {
		return "true or false"
	}
	names := make([]string, len(opt.Options))
	for i, v := range opt.Options {
		names[i] = `"` + v.Value + `"`
	}
	return "one of " + strings.Join(names, ", ")
}
