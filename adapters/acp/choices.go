package acp

import (
	"slices"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// An external agent has options of its own. Clients get them unchanged; ours that mean nothing for
// such an agent, the model and the effort, are left out, and ours get other ids where the agent's
// have the same. In the older forms of the choices its modes stand in place of our agents, and its
// models in place of ours.

// Chosen is the part of a session's state that its choices depend on.
type Chosen struct {
	Settings core.Settings
	Offered  core.Offered // by an external agent, maybe by another one than is chosen now
}

func chosen(st core.State) Chosen { return Chosen{st.Settings, st.Offered} }

// external returns the name of the session's agent if it is an external one; empty: it is not.
func (o *Offer) external(now Chosen) string {
	name := o.agent(now.Settings)
	a, ok := o.profile.Agent(name)
	if ok && a.External || !ok && name == now.Offered.Agent { // the last: it is not configured any more
		return name
	}
	return ""
}

// own lists the options of the session's agent itself.
func (o *Offer) own(now Chosen) []core.Choice {
	if name := o.external(now); name == "" || name != now.Offered.Agent {
		return nil
	}
	return now.Offered.Choices
}

// ownOf returns the agent's option that stands for a category in the older forms; nil: it has none.
func (o *Offer) ownOf(now Chosen, category string) *core.Choice {
	list := o.own(now)
	i := slices.IndexFunc(list, func(c core.Choice) bool { return c.Category == category && !c.Boolean && len(c.Values) > 0 })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// ours returns the id of one of our options: another one if the agent has an option of that id.
func (o *Offer) ours(now Chosen, id string) string {
	for slices.ContainsFunc(o.own(now), func(c core.Choice) bool { return c.ID == id }) {
		id = "dragoman_" + id
	}
	return id
}

// modeOption returns the id of the option that the modes stand for.
func (o *Offer) modeOption(now Chosen) string {
	if c := o.ownOf(now, acp.CategoryMode); c != nil {
		return c.ID
	}
	return o.ours(now, optionAgent)
}

// modelOption returns the id of the option that the models stand for.
func (o *Offer) modelOption(now Chosen) string {
	if c := o.ownOf(now, acp.CategoryModel); c != nil {
		return c.ID
	}
	return o.ours(now, optionModel)
}

// option returns an agent's option in the protocol's form.
func (o *Offer) option(c core.Choice) acp.ConfigOption {
	if c.Boolean {
		return o.onOff(acp.ConfigOption{ID: c.ID, Name: c.Name, Description: c.Description, Category: c.Category}, c.Value == "true", "Off", "On")
	}
	return acp.ConfigOption{
		ID: c.ID, Name: c.Name, Description: c.Description, Category: c.Category, Type: "select",
		CurrentValue: c.Value, Options: grouped(c),
	}
}

// onOff makes an option a switch, or for a client that cannot show one, a choice of two.
func (o *Offer) onOff(opt acp.ConfigOption, on bool, off, onName string) acp.ConfigOption {
	if o.boolean {
		opt.Type, opt.CurrentValue = "boolean", on
		return opt
	}
	opt.Type, opt.CurrentValue = "select", "off"
	if on {
		opt.CurrentValue = "on"
	}
	opt.Options = []acp.SelectOption{{Value: "off", Name: off}, {Value: "on", Name: onName}}
	return opt
}

// grouped lists the values of an agent's option: in groups, in the order of their first values, if
// any value has one.
func grouped(c core.Choice) []acp.SelectOption {
	all := []acp.SelectOption{}
	groups := []acp.SelectOption{}
	inGroups := false
	for _, v := range c.Values {
		if v.ID == "" {
			continue // no client could choose it
		}
		one := acp.SelectOption{Value: v.ID, Name: v.Name, Description: v.Description}
		all = append(all, one)
		group := v.Group
		if inGroups = inGroups || group != ""; group == "" {
			group = "other"
		}
		i := slices.IndexFunc(groups, func(g acp.SelectOption) bool { return g.Group == group })
		if i < 0 {
			i = len(groups)
			name := group
			if v.Group == "" {
				name = "Other"
			}
			groups = append(groups, acp.SelectOption{Group: group, Name: name})
		}
		groups[i].Options = append(groups[i].Options, one)
	}
	if inGroups {
		return groups
	}
	return all
}

// valuesOf lists the values that an option can have, of all groups.
func valuesOf(opt acp.ConfigOption) (list []string) {
	for _, v := range opt.Options {
		for _, in := range v.Options {
			list = append(list, in.Value)
		}
		if v.Group == "" {
			list = append(list, v.Value)
		}
	}
	return list
}

// selection is a new value of one option: of the agent's own, or of ours.
type selection struct {
	own, value string        // the id of the agent's option; empty: it is ours
	set        core.Settings // with the new value of ours
}

// selection reads a new value of an option. An error is the client's fault: an unknown option or
// value.
func (o *Offer) selection(now Chosen, id string, raw []byte) (selection, error) {
	list := o.options(now)
	i := slices.IndexFunc(list, func(opt acp.ConfigOption) bool { return opt.ID == id })
	if i < 0 {
		return selection{}, jrpc2.Errorf(jrpc2.InvalidParams, "configId: there is no option %.60q", id)
	}
	value, ok := valueOf(raw)
	own := (core.Offered{Choices: o.own(now)}).Choice(id)
	onOff := own != nil && own.Boolean || own == nil && id == o.ours(now, optionTrust)
	switch {
	case onOff && (value == "on" || value == "true"):
		value = "true"
	case onOff && (value == "off" || value == "false"):
		value = "false"
	case onOff, !ok, !slices.Contains(valuesOf(list[i]), value):
		return selection{}, jrpc2.Errorf(jrpc2.InvalidParams, "value: option %q takes %s, not %.60s", id, values(list[i]), raw)
	}
	if own != nil {
		return selection{own: id, value: value}, nil
	}
	for _, name := range []string{optionAgent, optionModel, optionEffort, optionTrust} {
		if id == o.ours(now, name) {
			return selection{set: o.set(now.Settings, name, value)}, nil
		}
	}
	return selection{}, jrpc2.Errorf(jrpc2.InvalidParams, "configId: there is no option %.60q", id)
}
