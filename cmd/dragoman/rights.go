package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/policy"
	"dragoman/core/tools"
)

// rights is the configuration's policy, narrowed for each agent. It never allows
// what the policy does not.
type rights struct {
	rules  *policy.Policy // the configuration's
	strict *policy.Policy // the same without what allows anything
	roles  []role
}

// Decide implements core.Policy. A task is no way round what binds the agent that
// handed it over: what that one may not do is not done for it either.
func (p rights) Decide(c core.Check) core.Verdict {
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
func (p rights) decide(c core.Check) core.Verdict {
	r, ok := p.role(c.Settings.Agent)
	if !ok {
		return p.rules.Decide(c) // the agent of another back end
	}
	if !r.offers(c.Spec) {
		return core.Verdict{Effect: core.Deny, Why: "the agent " + r.name + " is not offered the tool " + oneLine(c.Spec.Name, 80)}
	}
	if c.Spec.Server == core.Native && c.Spec.Name == spawnTool {
		if why := p.handsOver(r, c.Call.Args); why != "" {
			return core.Verdict{Effect: core.Deny, Why: why}
		}
	}
	rules := p.rules
	if r.foreign || named(r.asked, c.Spec) && !named(r.unasked, c.Spec) {
		rules, c.Settings.Trust = p.strict, false
		if c.Origin.Approvals == core.ApprovalsAuto {
			c.Origin.Approvals = core.ApprovalsAsk
		}
	}
	if !r.looks {
		return rules.Decide(c)
	}
	return lookOnly(rules, c)
}

// forbids reports whether a rule forbids to read what is at a real path, or to fetch
// a page.
func (p rights) forbids(m core.Meta, a core.Access) bool {
	tool, kind := "read_file", core.KindRead
	if a.Op == core.OpNet {
		tool, kind = "web_fetch", core.KindFetch
	}
	return p.rules.Forbids(core.Check{
		Call:   core.Call{Server: core.Native, Tool: tool, Kind: kind},
		Spec:   core.Spec{Server: core.Native, Name: tool, Kind: kind, ReadOnly: true},
		Access: []core.Access{a}, Meta: m,
	})
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

// role finds an agent's; the empty name is the default one's.
func (p rights) role(name string) (role, bool) {
	name = cmp.Or(name, codeAgent)
	i := slices.IndexFunc(p.roles, func(r role) bool { return r.name == name })
	if i < 0 {
		return role{}, false
	}
	return p.roles[i], true
}

// handsOver says why an agent may not hand a task to the one that a call names;
// "": it may. An agent that only looks hands tasks only to others of that kind,
// and one that the workspace proposes to none that has more rights: else a task
// would be a way round what binds the agent.
func (p rights) handsOver(from role, args json.RawMessage) string {
	to, ok := p.role(spawned(args))
	switch {
	case !ok:
		return "" // the tool says so
	case !to.sub:
		return "the agent " + to.name + " is not one that tasks are handed to"
	case from.looks && !to.looks:
		return fmt.Sprintf("the agent %s changes nothing, also not through others: it can hand tasks only to agents that look, such as %s", from.name, explorerAgent)
	case from.foreign && !to.foreign && !to.looks:
		return fmt.Sprintf("the agent %s comes from the workspace: it can hand tasks only to agents that look, such as %s, or that come from there as well", from.name, explorerAgent)
	case len(to.spawners) > 0 && !slices.ContainsFunc(to.spawners, func(s string) bool { return strings.EqualFold(s, from.name) }):
		return "the agent " + to.name + " takes no tasks from " + from.name
	}
	return ""
}

// spawned is the agent that a call of spawn_agent names, under that very name.
func spawned(args json.RawMessage) string {
	var in map[string]json.RawMessage
	var name string
	if json.Unmarshal(args, &in) != nil || json.Unmarshal(in["agent"], &name) != nil || name == "" {
		return "?" // no agent's name
	}
	return name
}

// newPolicies makes the policy of the configuration's rules, and the same without
// what allows anything. An error points at the rule in the file. Nobody touches the
// files of the keys that were given.
func newPolicies(c *configs.Config, env configs.Env, keys ...string) (rules, strict *policy.Policy, err error) {
	var all, others []policy.Rule
	home := program.Home(env)
	for _, path := range keys {
		ours := policy.Rule{Effect: core.Deny, Path: filepath.ToSlash(path)}
		if _, err := policy.New(policy.Options{Rules: []policy.Rule{ours}, Home: home}); err == nil {
			all, others = append(all, ours), append(others, ours)
		}
	}
	for _, list := range []struct {
		effect core.Effect
		name   string
		rules  []configs.Rule
	}{{core.Deny, "deny", c.Policy.Deny}, {core.MustAsk, "ask", c.Policy.Ask}, {core.Allow, "allow", c.Policy.Allow}} {
		for i, r := range list.rules {
			rule := policy.Rule{Effect: list.effect, Tool: r.Tool, Server: r.Server, Path: r.Path, Command: r.Command, URL: r.URL}
			if list.effect == core.Allow && r.Server == "" && tools.Named(r.Tool) {
				rule.Server = core.Native // an MCP server may call a tool of its own so
			}
			// One by one first, so that the message can say where.
			if _, err := policy.New(policy.Options{Rules: []policy.Rule{rule}, Home: home}); err != nil {
				key := fmt.Sprintf("policy.%s[%d]", list.name, i)
				at, _ := c.Where(key)
				if inner := errors.Unwrap(err); inner != nil {
					err = inner
				}
				return nil, nil, &configs.Error{Problems: []configs.Problem{{Position: at, Key: key, Message: err.Error()}}}
			}
			if all = append(all, rule); list.effect != core.Allow {
				others = append(others, rule)
			}
		}
	}
	fallback := core.Effect(c.Policy.Default)
	if rules, err = policy.New(policy.Options{Rules: all, Default: fallback, Home: home}); err != nil {
		return nil, nil, err
	}
	if fallback == core.Allow {
		fallback = core.MustAsk
	}
	strict, err = policy.New(policy.Options{Rules: others, Default: fallback, Home: home})
	return rules, strict, err
}
