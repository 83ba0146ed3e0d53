package acp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

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
// as an option, models, the efforts of a model, and trust; with an external agent, its own
// (choices.go). The three forms (modes, options, models) have the same content. It is immutable; nil
// offers nothing.
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

func (o *Offer) model(set core.Settings) string { return inference.Next(o.profile, set) }

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

func (o *Offer) modes(now Chosen) *acp.ModeState {
	if o == nil || o.agent(now.Settings) == "" {
		return nil
	}
	if c := o.ownOf(now, acp.CategoryMode); c != nil {
		st := &acp.ModeState{CurrentModeID: c.Value}
		for _, v := range c.Values {
			st.AvailableModes = append(st.AvailableModes, acp.Mode{ID: v.ID, Name: v.Name, Description: v.Description})
		}
		return st
	}
	set := now.Settings
	st := &acp.ModeState{CurrentModeID: o.agent(set)}
	for _, a := range o.agents(set) {
		st.AvailableModes = append(st.AvailableModes, acp.Mode{ID: a.Value, Name: a.Name, Description: a.Description})
	}
	return st
}

func (o *Offer) models(now Chosen) *acp.ModelState {
	if o == nil {
		return nil
	}
	if c := o.ownOf(now, acp.CategoryModel); c != nil {
		st := &acp.ModelState{CurrentModelID: c.Value}
		for _, v := range c.Values {
			st.AvailableModels = append(st.AvailableModels, acp.Model{ModelID: v.ID, Name: v.Name, Description: v.Description})
		}
		return st
	}
	set := now.Settings
	if o.external(now) != "" || o.model(set) == "" {
		return nil
	}
	st := &acp.ModelState{CurrentModelID: o.model(set)}
	for _, m := range o.allModels(set) {
		st.AvailableModels = append(st.AvailableModels, acp.Model{ModelID: m.Value, Name: m.Name})
	}
	return st
}

// info describes a model.
func (o *Offer) info(model string) inference.ModelInfo {
	return inference.ModelsOf(o.profile).Info(model)
}

// options returns the configuration options with their values: those of an external agent first.
// The effort is an option only if the chosen model has a choice.
func (o *Offer) options(now Chosen) []acp.ConfigOption {
	if o == nil {
		return nil
	}
	set := now.Settings
	list := []acp.ConfigOption{}
	for _, c := range o.own(now) {
		list = append(list, o.option(c))
	}
	if agents := o.agents(set); agents != nil {
		opt := acp.ConfigOption{
			ID:           o.ours(now, optionAgent),
			Name:         "Agent",
			Description:  "Who answers",
			Type:         "select",
			CurrentValue: o.agent(set),
			Options:      agents,
		}
		if o.modeOption(now) == opt.ID { // clients have one switch for modes
			opt.Category = acp.CategoryMode
		}
		list = append(list, opt)
	}
	if o.external(now) != "" {
		return append(list, o.trust(now))
	}
	if models := o.allModels(set); models != nil {
		list = append(list, acp.ConfigOption{
			ID: optionModel, Name: "Model", Category: acp.CategoryModel, Type: "select",
			CurrentValue: o.model(set), Options: models,
		})
	}
	if info := o.info(o.model(set)); len(info.Efforts) > 0 {
		opt := acp.ConfigOption{
			ID:           optionEffort,
			Name:         "Thinking effort",
			Category:     acp.CategoryThought,
			Type:         "select",
			CurrentValue: cmp.Or(info.Effort(set.Effort), effortDefault),
			Options:      []acp.SelectOption{{Value: effortDefault, Name: "Default"}},
		}
		for _, e := range info.Efforts {
			opt.Options = append(opt.Options, acp.SelectOption{Value: e, Name: e})
		}
		list = append(list, opt)
	}
	return append(list, o.trust(now))
}

// trust is for every agent: what an external one asks for is judged by the same policy.
func (o *Offer) trust(now Chosen) acp.ConfigOption {
	return o.onOff(acp.ConfigOption{
		ID:          o.ours(now, optionTrust),
		Name:        "Trust",
		Description: "Allow what would be asked for; what is forbidden stays so",
	}, now.Settings.Trust, "Ask", "Trust")
}

// set returns settings with one of our options changed.
func (o *Offer) set(set core.Settings, option, value string) core.Settings {
	switch option {
	case optionAgent:
		if set.Agent = value; len(o.profile.Agents) > 0 && value == o.profile.Agents[0].Name {
			set.Agent = "" // the default, even if its name changes
		}
	case optionModel:
		set.Model, set.Effort = value, o.info(value).Effort(set.Effort)
	case optionEffort:
		if set.Effort = value; value == effortDefault {
			set.Effort = ""
		}
	case optionTrust:
		set.Trust = value == "true"
	}
	return set
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
	names := valuesOf(opt)
	for i, v := range names {
		names[i] = `"` + v + `"`
	}
	return "one of " + strings.Join(names, ", ")
}
