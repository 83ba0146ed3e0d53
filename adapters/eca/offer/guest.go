package offer

import (
	"slices"
	"strings"
	"sync"

	"dragoman/core"
)

// An agent behind the gateway has models, modes and levels of thought of its own. Its models are
// named AGENT/MODEL, as others are PROVIDER/MODEL: clients keep one list for all chats and send the
// last choice with each prompt, so a name must tell whose it is. A mode is an entry of the list of
// agents, AGENT: MODE, because that is where users of ECA look for "plan". Levels of thought are
// variants. Other options have no place in the protocol.

const (
	modes  = "mode"
	models = "model"
	levels = "thought_level"

	// modeMark stands between an agent and its mode.
	modeMark = ": "
	// ownModel stands for the model of an agent that has offered none to choose. Some clients send no
	// prompt without a model, and send this name back: it chooses nothing. It is no model of an agent
	// that we know; Claude has one that is named default.
	ownModel = "agent-default"
)

// Known remembers what agents have offered last in any chat of a connection, for chats in which they
// have not run yet. A nil one remembers nothing. Goroutines may share it.
type Known struct {
	mu   sync.Mutex // guards the field below
	last map[string]core.Offered
}

// Add remembers what an agent offers. An old offer does not replace another one.
func (k *Known) Add(o core.Offered, old bool) {
	if k == nil || o.Agent == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, has := k.last[o.Agent]; has && old {
		return
	}
	if k.last == nil {
		k.last = map[string]core.Offered{}
	}
	k.last[o.Agent] = o
}

func (k *Known) of(agent string) core.Offered {
	if k == nil {
		return core.Offered{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last[agent]
}

// Pick is a value of an option that a user has chosen.
type Pick struct{ ID, Value string }

// guest is an agent behind the gateway in one chat.
type guest struct {
	name   string
	own    bool // the choices are those of this session
	state  State
	offers core.Offered
}

// guest returns the agent of a chat, if it is one behind the gateway.
func (o *Offer) guest(st State) (guest, bool) {
	if o.Profile == nil {
		return guest{}, false
	}
	a, ok := o.Profile.Agent(st.Agent)
	if !ok || !a.External {
		return guest{}, false
	}
	if st.Offered.Agent == a.Name {
		return guest{a.Name, true, st, st.Offered}, true
	}
	g := guest{a.Name, false, st, o.Known.of(a.Name)}
	g.offers.Choices = slices.Clone(g.offers.Choices)
	for i, c := range g.offers.Choices {
		if v := st.Choices.Get(c.ID); v != "" { // it will begin with that
			g.offers.Choices[i].Value = v
		} else if c.Category == modes { // another chat's mode may allow more than the user means here
			g.offers.Choices[i].Value = ""
		}
	}
	return g, true
}

// Unasked returns the agent behind the gateway that a chat has chosen and that has offered nothing
// there yet; ok is false if there is none.
func (o *Offer) Unasked(st State) (name string, ok bool) {
	a, ok := o.guest(st)
	return a.name, ok && !a.own
}

// guests reports whether a model is one of an agent behind the gateway.
func (o *Offer) guests(model string) bool {
	return o.Profile != nil && !slices.Contains(o.Models, model) && slices.ContainsFunc(o.Profile.Agents, func(a core.Agent) bool {
		return a.External && strings.HasPrefix(model, a.Name+"/")
	})
}

// choice returns the option of a category; nil: there is none.
func (a guest) choice(category string) *core.Choice {
	for i, c := range a.offers.Choices {
		if c.Category == category && !c.Boolean && len(c.Values) > 0 {
			return &a.offers.Choices[i]
		}
	}
	return nil
}

func ids(c *core.Choice) (list []string) {
	for _, v := range c.Values {
		list = append(list, v.ID)
	}
	return list
}

func (a guest) models() []string {
	c := a.choice(models)
	if c == nil {
		return []string{a.name + "/" + ownModel}
	}
	list := ids(c)
	for i := range list {
		list[i] = a.name + "/" + list[i]
	}
	if now := a.model(); !slices.Contains(list, now) {
		list = append(list, now)
	}
	return list
}

func (a guest) model() string {
	if c := a.choice(models); c != nil {
		return a.name + "/" + c.Value
	}
	return a.name + "/" + ownModel
}

// ModelOf returns the model of a listed chat.
func (o *Offer) ModelOf(sum core.Summary) string {
	st := State{Settings: core.Settings{Agent: sum.Agent, Model: sum.Model}}
	if a, ok := o.guest(st); ok && sum.Model != "" {
		return a.name + "/" + sum.Model
	}
	return o.ModelIn(st)
}

// word returns the agent with its mode.
func (a guest) word() string {
	if c := a.choice(modes); c != nil && c.Value != "" {
		return a.name + modeMark + c.Value
	}
	return a.name
}

// among returns a list of agents with the modes of this one after it.
func (a guest) among(list []string) []string {
	c := a.choice(modes)
	if c == nil {
		return list
	}
	words := ids(c)
	for i := range words {
		words[i] = a.name + modeMark + words[i]
	}
	if now := a.word(); c.Value != "" && !slices.Contains(words, now) {
		words = append(words, now)
	}
	at := slices.Index(list, a.name) + 1
	if at == 0 { // behaviors do not name the default agent
		at = len(list)
	}
	return slices.Insert(slices.Clone(list), at, words...)
}

// apply applies a choice in the client's words: a model of another agent is ignored, and with it its
// variant, because clients send the last choice with each prompt.
func (a guest) apply(ch Choice, mode string, st *State) (picks []Pick) {
	pick := func(category, value string) {
		c := a.choice(category)
		switch {
		case c == nil || value == "":
		case a.own:
			if value != c.Value || !a.keeps(c.ID, value) {
				picks = append(picks, Pick{c.ID, value})
			}
		case slices.Contains(ids(c), value): // it begins with that
			st.Choices = st.Choices.With(c.ID, value)
		}
	}
	pick(modes, mode)
	if model, ok := strings.CutPrefix(ch.Model, a.name+"/"); ok {
		if model != ownModel {
			pick(models, model)
		}
		if c := a.choice(levels); c != nil && slices.Contains(ids(c), ch.Variant) {
			pick(levels, ch.Variant)
		}
	}
	return picks
}

// drops reports whether an agent that is chosen now must not begin with the choices that the session
// has: they are another agent's.
func (a guest) drops(was guest) bool {
	return was.name != "" && was.name != a.name || a.state.Offered.Agent != "" && a.state.Offered.Agent != a.name
}

// keeps reports whether the chat keeps no other value of an option.
func (a guest) keeps(id, value string) bool {
	kept := a.state.Choices.Get(id)
	return kept == "" || kept == value
}
