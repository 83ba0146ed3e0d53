package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// spawnTool is the name of the tool that hands a task to another agent.
const spawnTool = "spawn_agent"

// Rights is a policy, narrowed for each agent. It never allows what the policy does not.
type Rights struct {
	Rules   *Policy // holds for every agent
	Strict  *Policy // the same without what allows anything
	Roles   []Role
	Default string // names the role of the agent without a name
}

// Decide implements core.Policy. A task cannot get round the limits of the agent that
// handed it over: a call that this agent may not make is not made for it either.
func (p Rights) Decide(c core.Check) core.Verdict {
	v := p.decide(c)
	if c.Meta.Parent == "" || v.Effect == core.Deny {
		return v
	}
	c.Settings.Agent = c.Meta.ParentAgent
	w := p.decide(c)
	if w.Effect == core.Deny {
		w.Why += ", and it handed over this task"
	}
	if w.Effect == core.Deny || v.Effect == core.Allow {
		return w
	}
	return v
}

// decide judges a call of the session's own agent.
func (p Rights) decide(c core.Check) core.Verdict {
	r, ok := p.role(c.Settings.Agent)
	if !ok {
		return p.Rules.Decide(c) // the agent of another back end
	}
	c.Settings.Agent = r.Name
	if !r.Offers(c.Spec) {
		return core.Verdict{
			Effect: core.Deny,
			Why:    "the agent " + r.Name + " is not offered the tool " + display.Line(c.Spec.Name, 80),
		}
	}
	if c.Spec.Server == core.Native && c.Spec.Name == spawnTool {
		if why := p.handsOver(r, c.Call.Args); why != "" {
			return core.Verdict{Effect: core.Deny, Why: why}
		}
	}
	rules := p.Rules
	lines := r.asksToRun(c.Spec) && runs(c.Access)
	asked := r.Foreign || named(r.Asked, c.Spec, true) && !named(r.Unasked, c.Spec, false)
	if lines || asked {
		rules, c.Settings.Trust = p.Strict, false
		if c.Origin.Approvals == core.ApprovalsAuto {
			c.Origin.Approvals = core.ApprovalsAsk
		}
	}
	switch {
	case lines:
		return rules.decideLine(c, !asked)
	case r.Looks:
		return lookOnly(rules, c)
	}
	return rules.Decide(c)
}

// Lasting returns the name under which answers about an agent's calls may be kept for good; ok is
// false for an agent that the workspace proposes.
func (p Rights) Lasting(agent string) (name string, ok bool) {
	r, ours := p.role(agent)
	return cmp.Or(agent, p.Default), !ours || !r.Foreign
}

// Offers reports whether an agent is offered a tool. An agent of another back end decides that
// itself.
func (p Rights) Offers(agent string, s core.Spec) bool {
	r, ok := p.role(agent)
	return !ok || r.Offers(s)
}

// runs reports whether a call runs command lines, and does nothing else but read.
func runs(list []core.Access) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(a core.Access) bool { return a.Op != core.OpRun && a.Op != core.OpRead })
}

// Forbids reports whether a rule forbids reading the file at a real path, or fetching a
// page.
func (p Rights) Forbids(m core.Meta, a core.Access) bool {
	tool, kind := "read_file", core.KindRead
	if a.Op == core.OpNet {
		tool, kind = "web_fetch", core.KindFetch
	}
	return p.Rules.Forbids(core.Check{
		Call:   core.Call{Server: core.Native, Tool: tool, Kind: kind},
		Spec:   core.Spec{Server: core.Native, Name: tool, Kind: kind, ReadOnly: true},
		Access: []core.Access{a}, Meta: m,
	})
}

// Reads is Forbids for reading files in a session, by their real paths. It finds out once which rules
// are about the session, so that a search can ask about every file.
func (p Rights) Reads(m core.Meta) (forbidden func(real string) bool) {
	f := p.Rules.look(core.Check{
		Call: core.Call{Server: core.Native, Tool: "read_file", Kind: core.KindRead},
		Spec: core.Spec{Server: core.Native, Name: "read_file", Kind: core.KindRead, ReadOnly: true},
		Meta: m,
	})
	var rules []*rule
	for i := range p.Rules.deny {
		if r := &p.Rules.deny[i]; r.names(f) && r.Command == "" && r.URL == "" {
			rules = append(rules, r)
		}
	}
	if len(rules) == 0 {
		return func(string) bool { return false }
	}
	return func(real string) bool {
		folded := foldPath(real)
		return slices.ContainsFunc(rules, func(r *rule) bool {
			return r.Path == "" || real != "" && r.path.Matches(folded)
		})
	}
}

// lookOnly holds a call to looking. What only looks may be asked for, where the
// rules would ask.
func lookOnly(rules core.Policy, c core.Check) core.Verdict {
	narrow := c
	narrow.Origin.Approvals = core.ApprovalsReadOnly
	v := rules.Decide(narrow)
	if v.Effect != core.Deny || c.Spec.Server != core.Native || len(c.Access) == 0 {
		return v
	}
	changes := func(a core.Access) bool { return a.Op != core.OpRead && a.Op != core.OpNet }
	if slices.ContainsFunc(c.Access, changes) {
		return v
	}
	switch c.Spec.Kind {
	case core.KindRead, core.KindSearch, core.KindThink, core.KindFetch:
	case core.KindEdit, core.KindDelete, core.KindMove, core.KindExecute, core.KindOther, "":
		return v
	}
	if w := rules.Decide(c); w.Effect == core.MustAsk {
		return w
	}
	return v
}

// role returns the role of an agent. The empty name means the agent Default.
func (p Rights) role(name string) (Role, bool) {
	name = cmp.Or(name, p.Default)
	i := slices.IndexFunc(p.Roles, func(r Role) bool { return r.Name == name })
	if i < 0 {
		return Role{}, false
	}
	return p.Roles[i], true
}

// handsOver returns the reason why an agent may not hand a task to the agent that a call
// names, or "" if it may. An agent that only looks hands tasks only to others of that kind,
// and an agent that the workspace proposes hands none to an agent with more rights.
// Otherwise a task would be a way round the limits of the agent.
func (p Rights) handsOver(from Role, args json.RawMessage) string {
	to, ok := p.role(spawned(args))
	switch {
	case !ok:
		return "" // the tool reports the error
	case !to.Sub:
		return "the agent " + to.Name + " is not one that tasks are handed to"
	case from.Looks && !to.Looks:
		return fmt.Sprintf(
			"the agent %s changes nothing, also not through others: it can hand tasks only to agents that look, such as %s",
			from.Name,
			p.looker(),
		)
	case from.Foreign && !to.Foreign && !to.Looks:
		return fmt.Sprintf(
			"the agent %s comes from the workspace: it can hand tasks only to agents that look, such as %s, or that come from there as well",
			from.Name,
			p.looker(),
		)
	case len(to.Spawners) > 0 && !slices.ContainsFunc(to.Spawners, func(s string) bool { return strings.EqualFold(s, from.Name) }):
		return "the agent " + to.Name + " does not accept tasks from " + from.Name
	}
	return ""
}

// looker names an agent that only looks, to hand tasks to.
func (p Rights) looker() string {
	for _, r := range p.Roles {
		if r.Looks && r.Sub && !r.Primary {
			return r.Name
		}
	}
	return "one of another kind"
}

// spawned returns the agent that a call of spawn_agent names in the argument "agent", which must be
// spelled exactly so; "?": it names none.
func spawned(args json.RawMessage) string {
	var in map[string]json.RawMessage
	var name string
	if json.Unmarshal(args, &in) != nil || json.Unmarshal(in["agent"], &name) != nil || name == "" {
		return "?" // no agent's name
	}
	return name
}
