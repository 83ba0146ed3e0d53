package eca

import (
	"slices"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/inference"
)

// Placeholders for missing names. Some clients send no prompt before they have a model and an
// agent to choose, and the answer to a prompt describes the problem.
const (
	noModel = "none/configured"
	noAgent = "code"
)

// offer is the set of possible choices. It is immutable.
type offer struct {
	profile   *core.Profile // nil: the configuration has an error
	fault     string        // the error, for people; "": none
	mistake   string        // the error in a newer configuration, which keeps this one in use
	models    []string      // never empty
	model     string        // the default
	agents    []string      // never empty; the first is the default
	behaviors []string      // the same in the words of chatBehavior
	welcome   string
}

func newOffer(prof *core.Profile) *offer {
	o := &offer{profile: prof}
	if prof != nil {
		if prof.Fault != "" {
			o.mistake = "The configuration has a mistake, so the previous one stays in use:\n" + prof.Fault
		}
		models := inference.ModelsOf(prof)
		o.model = models.Default
		for _, m := range models.List {
			o.models = append(o.models, m.ID)
		}
		for _, a := range prof.Agents {
			o.agents = append(o.agents, a.Name)
		}
	}
	if o.model == "" && len(o.models) > 0 {
		o.model = o.models[0]
	}
	if o.model == "" {
		o.model = noModel
	}
	if len(o.models) == 0 {
		o.models = []string{o.model}
	}
	if len(o.agents) == 0 {
		o.agents = []string{noAgent}
	}
	o.behaviors = []string{eca.BehaviorAgent, eca.BehaviorPlan}
	for _, a := range o.agents[1:] {
		if a != eca.BehaviorPlan && a != eca.BehaviorAgent {
			o.behaviors = append(o.behaviors, a)
		}
	}
	if !slices.Contains(o.agents, eca.BehaviorPlan) {
		o.agents = append(o.agents, eca.BehaviorPlan)
	}
	return o
}

// info describes a model; ok is false for an unknown one.
func (o *offer) info(id string) (info inference.ModelInfo, ok bool) {
	if o.profile == nil {
		return info, false
	}
	for _, m := range inference.ModelsOf(o.profile).List {
		if m.ID == id {
			return m, true
		}
	}
	return info, false
}

// lists reports whether the client's list of models has this one.
func (o *offer) lists(id string) bool { return o.profile == nil || slices.Contains(o.models, id) }

// agent finds an agent that a chat has chosen; it finds none if the configuration has an error.
func (o *offer) agent(name string) (core.Agent, bool) {
	if o.profile == nil {
		return core.Agent{}, true
	}
	return o.profile.Agent(name)
}

// agentOf returns the agent for a client's word; "" means the default one. plan reports that it
// is the default one in place of a missing plan agent: it must not change anything.
func (o *offer) agentOf(word string) (name string, plan bool) {
	if o.profile != nil {
		for i, a := range o.profile.Agents {
			if i > 0 && a.Name == word {
				return word, false
			}
		}
	}
	return "", word == eca.BehaviorPlan && o.agents[0] != eca.BehaviorPlan
}

// modelIn returns the model that settings choose.
func (o *offer) modelIn(set core.Settings) string {
	if set.Model != "" {
		return set.Model
	}
	return o.model
}

// agentIn returns the agent that settings choose.
func (o *offer) agentIn(set core.Settings, plan bool) string {
	switch {
	case plan:
		return eca.BehaviorPlan
	case set.Agent != "" && (o.profile == nil || slices.Contains(o.agents, set.Agent)):
		return set.Agent
	}
	return o.agents[0]
}

// behaviorIn returns the same in the words of chatBehavior.
func (o *offer) behaviorIn(set core.Settings, plan bool) string {
	if name := o.agentIn(set, plan); name != o.agents[0] {
		return name
	}
	return eca.BehaviorAgent
}

// variants lists the efforts of a model, and the chosen one.
func (o *offer) variants(set core.Settings) (list []string, chosen *string) {
	list = []string{}
	if info, ok := o.info(o.modelIn(set)); ok {
		list = append(list, info.Efforts...)
	}
	if set.Effort != "" {
		chosen = &set.Effort
	}
	return list, chosen
}

// config returns the params of config/updated. They always hold everything, because VS Code keeps
// only the last ones for a view that is opened later.
func (o *offer) config(set core.Settings, plan bool) *eca.ChatConfig {
	variants, variant := o.variants(set)
	return &eca.ChatConfig{
		Models: o.models, SelectModel: o.modelIn(set), DefaultModel: o.model,
		Agents: o.agents, SelectAgent: o.agentIn(set, plan), DefaultAgent: o.agents[0],
		Behaviors: o.behaviors, SelectBehavior: o.behaviorIn(set, plan), DefaultBehavior: eca.BehaviorAgent,
		Variants: variants, SelectVariant: variant, SelectTrust: set.Trust, WelcomeMessage: o.welcome,
	}
}

// selection returns the same for one chat that is opened.
func (o *offer) selection(set core.Settings, plan bool) *eca.Selection {
	variants, variant := o.variants(set)
	return &eca.Selection{
		Model:    o.modelIn(set),
		Agent:    o.agentIn(set, plan),
		Variant:  variant,
		Variants: variants,
		Trust:    set.Trust,
	}
}

// choice holds the user's choices, in the client's words; "": none.
type choice struct {
	model   string
	variant string
	agent   string
}

// selectAgent sets the agent; "" leaves it.
func (c *choice) selectAgent(word string) {
	if word != "" {
		c.agent = word
	}
}

// selectModel sets the model and its variant; "" leaves both.
func (c *choice) selectModel(model, variant string) {
	if model != "" {
		c.model, c.variant = model, variant
	}
}

// over returns c where it has a choice, else under.
func (c choice) over(under choice) choice {
	under.selectModel(c.model, c.variant)
	under.selectAgent(c.agent)
	return under
}

// apply applies a choice to settings. plan is the flag of the chat with that name, which a choice
// of an agent changes.
func (o *offer) apply(c choice, set *core.Settings, plan *bool) {
	if c.model != "" && c.model != noModel {
		if c.model != o.modelIn(*set) {
			set.Model = c.model
		}
		set.Effort = c.variant
		if info, ok := o.info(c.model); ok && !slices.Contains(info.Efforts, c.variant) {
			set.Effort = ""
		}
	}
	if c.agent != "" {
		set.Agent, *plan = o.agentOf(c.agent)
	}
}

// providers lists the providers of the models.
func (o *offer) providers() []eca.ProviderStatus {
	list := []eca.ProviderStatus{}
	if o.profile == nil {
		return list
	}
	for _, m := range inference.ModelsOf(o.profile).List {
		provider, id, _ := strings.Cut(m.ID, "/")
		if m.Provider != "" {
			provider, id = m.Provider, strings.TrimPrefix(m.ID, m.Provider+"/")
		}
		i := slices.IndexFunc(list, func(p eca.ProviderStatus) bool { return p.ID == provider })
		if i < 0 {
			status := eca.AuthAuthenticated
			if m.Offline {
				status = eca.AuthLocal
			}
			i = len(list)
			list = append(list, eca.ProviderStatus{ID: provider, Configured: true, Auth: eca.ProviderAuth{Status: status}})
		}
		list[i].Models = append(list[i].Models, eca.ProviderModel{
			ID: id, Capabilities: eca.Capabilities{Reason: m.Thinks, Vision: m.Images, Tools: m.Tools},
		})
	}
	return list
}
