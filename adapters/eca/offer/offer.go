// Package offer says what a user of ECA can choose for a chat: models, agents and variants. It
// translates between the words of clients and the settings of sessions.
package offer

import (
	"slices"

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

// Offer is the set of possible choices. It is immutable.
type Offer struct {
	Profile   *core.Profile // nil: the configuration has an error
	Fault     string        // the error, for people; "": none
	Mistake   string        // the error in a newer configuration, which keeps this one in use
	Models    []string      // never empty
	Model     string        // the default
	Agents    []string      // never empty; the first is the default
	Behaviors []string      // the same in the words of chatBehavior
	Welcome   string
}

// New returns the offer of a profile; nil: its configuration has an error.
func New(prof *core.Profile) *Offer {
	o := &Offer{Profile: prof}
	if prof != nil {
		if prof.Fault != "" {
			o.Mistake = "The configuration has a mistake, so the previous one stays in use:\n" + prof.Fault
		}
		models := inference.ModelsOf(prof)
		o.Model = models.Default
		for _, m := range models.List {
			o.Models = append(o.Models, m.ID)
		}
		for _, a := range prof.Agents {
			o.Agents = append(o.Agents, a.Name)
		}
	}
	if o.Model == "" && len(o.Models) > 0 {
		o.Model = o.Models[0]
	}
	if o.Model == "" {
		o.Model = noModel
	}
	if len(o.Models) == 0 {
		o.Models = []string{o.Model}
	}
	if len(o.Agents) == 0 {
		o.Agents = []string{noAgent}
	}
	o.Behaviors = []string{eca.BehaviorAgent, eca.BehaviorPlan}
	for _, a := range o.Agents[1:] {
		if a != eca.BehaviorPlan && a != eca.BehaviorAgent {
			o.Behaviors = append(o.Behaviors, a)
		}
	}
	if !slices.Contains(o.Agents, eca.BehaviorPlan) {
		o.Agents = append(o.Agents, eca.BehaviorPlan)
	}
	return o
}

// Info describes a model; ok is false for an unknown one.
func (o *Offer) Info(id string) (info inference.ModelInfo, ok bool) {
	if o.Profile == nil {
		return info, false
	}
	for _, m := range inference.ModelsOf(o.Profile).List {
		if m.ID == id {
			return m, true
		}
	}
	return info, false
}

// Lists reports whether the client's list of models has this one.
func (o *Offer) Lists(id string) bool { return o.Profile == nil || slices.Contains(o.Models, id) }

// Agent finds an agent that a chat has chosen; it finds none if the configuration has an error.
func (o *Offer) Agent(name string) (core.Agent, bool) {
	if o.Profile == nil {
		return core.Agent{}, true
	}
	return o.Profile.Agent(name)
}

// AgentOf returns the agent for a client's word; "" means the default one. plan reports that it
// is the default one in place of a missing plan agent: it must not change anything.
func (o *Offer) AgentOf(word string) (name string, plan bool) {
	if o.Profile != nil {
		for i, a := range o.Profile.Agents {
			if i > 0 && a.Name == word {
				return word, false
			}
		}
	}
	return "", word == eca.BehaviorPlan && o.Agents[0] != eca.BehaviorPlan
}

// ModelIn returns the model that settings choose.
func (o *Offer) ModelIn(set core.Settings) string {
	if set.Model != "" {
		return set.Model
	}
	return o.Model
}

// AgentIn returns the agent that settings choose.
func (o *Offer) AgentIn(set core.Settings, plan bool) string {
	switch {
	case plan:
		return eca.BehaviorPlan
	case set.Agent != "" && (o.Profile == nil || slices.Contains(o.Agents, set.Agent)):
		return set.Agent
	}
	return o.Agents[0]
}

// BehaviorIn returns the same in the words of chatBehavior.
func (o *Offer) BehaviorIn(set core.Settings, plan bool) string {
	if name := o.AgentIn(set, plan); name != o.Agents[0] {
		return name
	}
	return eca.BehaviorAgent
}

// variants lists the efforts of a model, and the chosen one.
func (o *Offer) variants(set core.Settings) (list []string, chosen *string) {
	list = []string{}
	if info, ok := o.Info(o.ModelIn(set)); ok {
		list = append(list, info.Efforts...)
	}
	if set.Effort != "" {
		chosen = &set.Effort
	}
	return list, chosen
}

// Config returns the params of config/updated. They always hold everything, because VS Code keeps
// only the last ones for a view that is opened later.
func (o *Offer) Config(set core.Settings, plan bool) *eca.ChatConfig {
	variants, variant := o.variants(set)
	return &eca.ChatConfig{
		Models: o.Models, SelectModel: o.ModelIn(set), DefaultModel: o.Model,
		Agents: o.Agents, SelectAgent: o.AgentIn(set, plan), DefaultAgent: o.Agents[0],
		Behaviors: o.Behaviors, SelectBehavior: o.BehaviorIn(set, plan), DefaultBehavior: eca.BehaviorAgent,
		Variants: variants, SelectVariant: variant, SelectTrust: set.Trust, WelcomeMessage: o.Welcome,
	}
}

// Selection returns the same for one chat that is opened.
func (o *Offer) Selection(set core.Settings, plan bool) *eca.Selection {
	variants, variant := o.variants(set)
	return &eca.Selection{
		Model:    o.ModelIn(set),
		Agent:    o.AgentIn(set, plan),
		Variant:  variant,
		Variants: variants,
		Trust:    set.Trust,
	}
}

// Choice holds the user's choices, in the client's words; "": none.
type Choice struct {
	Model   string
	Variant string
	Agent   string
}

// SelectAgent sets the agent; "" leaves it.
func (c *Choice) SelectAgent(word string) {
	if word != "" {
		c.Agent = word
	}
}

// SelectModel sets the model and its variant; "" leaves both.
func (c *Choice) SelectModel(model, variant string) {
	if model != "" {
		c.Model, c.Variant = model, variant
	}
}

// Over returns c where it has a choice, else under.
func (c Choice) Over(under Choice) Choice {
	under.SelectModel(c.Model, c.Variant)
	under.SelectAgent(c.Agent)
	return under
}

// Apply applies a choice to settings. plan is the flag of the chat with that name, which a choice
// of an agent changes.
func (o *Offer) Apply(c Choice, set *core.Settings, plan *bool) {
	if c.Model != "" && c.Model != noModel {
		if c.Model != o.ModelIn(*set) {
			set.Model = c.Model
		}
		set.Effort = c.Variant
		if info, ok := o.Info(c.Model); ok && !slices.Contains(info.Efforts, c.Variant) {
			set.Effort = ""
		}
	}
	if c.Agent != "" {
		set.Agent, *plan = o.AgentOf(c.Agent)
	}
}

// offerer is a policy that knows which tools an agent is offered.
type offerer interface {
	Offers(agent string, t core.Spec) bool
}

// Refuses reports whether an agent, in the client's words, is not offered a tool.
func (o *Offer) Refuses(agent string, t core.Spec) bool {
	if o == nil || o.Profile == nil {
		return false
	}
	p, ok := o.Profile.Policy.(offerer)
	name, _ := o.AgentOf(agent)
	return ok && !p.Offers(name, t)
}
