// Package offer says what a user of ECA can choose for a chat: models, agents and variants. It
// translates between the words of clients and the settings of sessions.
package offer

import (
	"cmp"
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

// Offer is the set of possible choices. It is immutable.
type Offer struct {
	Profile   *core.Profile // nil: the configuration has an error
	Fault     string        // the error, for people; "": none
	Mistake   string        // the error in a newer configuration, which keeps this one in use
	Models    []string      // never empty
	Model     string        // of a chat without choices
	Agents    []string      // never empty; the first is the default
	Behaviors []string      // the same in the words of chatBehavior
	Welcome   string
	Known     *Known // what agents behind the gateway have offered; nil: nothing
}

// State is what a chat goes by: its settings, and what its agent offers.
type State struct {
	core.Settings
	Plan    bool         // the default agent acts as the plan agent
	Offered core.Offered // by the agent of the session; an agent that never ran has offered nothing
}

// New returns the offer of a profile; nil: its configuration has an error.
func New(prof *core.Profile) *Offer {
	o := &Offer{Profile: prof}
	if prof != nil {
		if prof.Fault != "" {
			o.Mistake = "The configuration has a mistake, so the previous one stays in use:\n" + prof.Fault
		}
		models := inference.ModelsOf(prof)
		o.Model = cmp.Or(inference.Next(prof, core.Settings{}), models.Default)
		for _, m := range models.List {
			o.Models = append(o.Models, m.ID)
		}
		for _, a := range prof.Agents {
			o.Agents = append(o.Agents, a.Name)
		}
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

// Info describes a model.
func (o *Offer) Info(id string) inference.ModelInfo { return inference.ModelsOf(o.Profile).Info(id) }

// Agent finds an agent that a chat has chosen; it finds none if the configuration has an error.
func (o *Offer) Agent(name string) (core.Agent, bool) {
	if o.Profile == nil {
		return core.Agent{}, true
	}
	return o.Profile.Agent(name)
}

// AgentOf returns the agent for a client's word; "" means the default one. mode is the mode of an
// agent behind the gateway that the word names, or "". plan reports that the agent is the default
// one in place of a missing plan agent: it must not change anything.
func (o *Offer) AgentOf(word string) (name, mode string, plan bool) {
	if o.Profile != nil {
		for i, a := range o.Profile.Agents {
			if a.Name == word {
				return nameAt(i, a), "", false
			}
		}
		for i, a := range o.Profile.Agents {
			if mode, ok := strings.CutPrefix(word, a.Name+modeMark); ok && a.External {
				return nameAt(i, a), mode, false
			}
		}
	}
	return "", "", word == eca.BehaviorPlan && o.Agents[0] != eca.BehaviorPlan
}

// nameAt returns the name for an agent in settings, where the first one has none: it is whichever is the
// default. An agent behind the gateway has its name there, because its own session is a part of the chat.
func nameAt(i int, a core.Agent) string {
	if i == 0 && !a.External {
		return ""
	}
	return a.Name
}

// ModelIn returns the model that a chat asks next.
func (o *Offer) ModelIn(st State) string {
	if a, ok := o.guest(st); ok {
		return a.model()
	}
	return cmp.Or(inference.Next(o.Profile, st.Settings), o.Model)
}

// Unknown reports whether a model has to be asked before anybody knows that it exists.
func (o *Offer) Unknown(st State) bool {
	_, ok := o.guest(st)
	return !ok && o.Profile != nil && !slices.Contains(o.Models, o.ModelIn(st))
}

// AgentIn returns the agent that a chat has chosen, with its mode.
func (o *Offer) AgentIn(st State) string {
	if a, ok := o.guest(st); ok && !st.Plan {
		return a.word()
	}
	return o.agentIn(st)
}

func (o *Offer) agentIn(st State) string {
	switch {
	case st.Plan:
		return eca.BehaviorPlan
	case st.Agent != "" && (o.Profile == nil || slices.Contains(o.Agents, st.Agent)):
		return st.Agent
	}
	return o.Agents[0]
}

// BehaviorIn returns the same in the words of chatBehavior.
func (o *Offer) BehaviorIn(st State) string {
	if name := o.AgentIn(st); name != o.Agents[0] {
		return name
	}
	return eca.BehaviorAgent
}

// Variants lists the efforts of a model or the levels of thought of an agent, and the chosen one.
func (o *Offer) Variants(st State) (list []string, chosen *string) {
	list = []string{}
	if a, ok := o.guest(st); ok {
		if c := a.choice(levels); c != nil {
			return append(list, ids(c)...), &c.Value
		}
		return list, nil
	}
	info := o.Info(o.ModelIn(st))
	list = append(list, info.Efforts...)
	if effort := info.Effort(st.Effort); effort != "" {
		chosen = &effort
	}
	return list, chosen
}

// OfTask returns the model and the variant of a task that a chat hands to an agent. The wanted model
// may be empty.
func (o *Offer) OfTask(st State, agent, wanted string) (model, variant string) {
	if _, ok := o.guest(st); ok || o.Profile == nil { // its own agents have models that only it knows
		if _, chosen := o.Variants(st); chosen != nil {
			variant = *chosen
		}
		return cmp.Or(wanted, o.ModelIn(st)), variant
	}
	model = inference.Next(o.Profile, inference.ForTask(o.Profile, st.Settings, agent, wanted))
	return cmp.Or(model, o.ModelIn(st)), o.Info(model).Effort(st.Effort)
}

// Config returns the params of config/updated. They always hold everything, because VS Code keeps
// only the last ones for a view that is opened later.
func (o *Offer) Config(st State) *eca.ChatConfig {
	variants, variant := o.Variants(st)
	c := &eca.ChatConfig{
		Models: o.Models, SelectModel: o.ModelIn(st), DefaultModel: o.ModelIn(State{Settings: core.Settings{Agent: st.Agent}}),
		Agents: o.Agents, SelectAgent: o.AgentIn(st), DefaultAgent: o.Agents[0],
		Behaviors: o.Behaviors, SelectBehavior: o.BehaviorIn(st), DefaultBehavior: eca.BehaviorAgent,
		Variants: variants, SelectVariant: variant, SelectTrust: st.Trust, WelcomeMessage: o.Welcome,
	}
	if a, ok := o.guest(st); ok {
		c.Models, c.DefaultModel = a.models(), c.SelectModel
		c.Agents, c.Behaviors = a.among(o.Agents), a.among(o.Behaviors)
	}
	return c
}

// Selection returns the same for one chat that is opened.
func (o *Offer) Selection(st State) *eca.Selection {
	variants, variant := o.Variants(st)
	return &eca.Selection{Model: o.ModelIn(st), Agent: o.AgentIn(st), Variant: variant, Variants: variants, Trust: st.Trust}
}

// Choice holds the user's choices, in the client's words; "": none. Clients send the model that they
// show with each prompt, so it is a choice only where it is not the one that the chat asks anyway.
type Choice struct {
	Model   string
	Variant string
	Agent   string
	own     bool // the user has chosen the model, whichever it is
}

// Selected returns the choice of a user who has selected a model.
func Selected(model, variant string) Choice {
	return Choice{Model: model, Variant: variant, own: model != ""}
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
		c.own = c.own && model == c.Model
		c.Model, c.Variant = model, variant
	}
}

// Over returns c where it has a choice, else under.
func (c Choice) Over(under Choice) Choice {
	under.SelectModel(c.Model, c.Variant)
	under.own = under.own || c.own
	under.SelectAgent(c.Agent)
	return under
}

// Apply applies a choice to the state of a chat. What is chosen of the options of an agent that has
// told them in this session is returned: only the agent can change that.
func (o *Offer) Apply(c Choice, st *State) []Pick {
	mode := ""
	if c.Agent != "" {
		was, _ := o.guest(*st)
		st.Agent, mode, st.Plan = o.AgentOf(c.Agent)
		if a, ok := o.guest(*st); ok && a.drops(was) {
			st.Choices = ""
		}
	}
	if a, ok := o.guest(*st); ok {
		return a.apply(c, mode, st)
	}
	if c.Model != "" && c.Model != noModel && !o.guests(c.Model) {
		if c.own || c.Model != o.ModelIn(*st) {
			st.Model = c.Model
		}
		st.Effort = o.Info(c.Model).Effort(c.Variant)
	}
	return nil
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
	name, _, _ := o.AgentOf(agent)
	return ok && !p.Offers(name, t)
}
