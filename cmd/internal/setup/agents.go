package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/cmd/internal/agents"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/guide"
	"dragoman/core/inference"
	"dragoman/core/loop"
	"dragoman/core/policy"
)

// The agents that exist without any configuration: two for people, and two to which other
// agents delegate tasks.
const (
	codeAgent     = "code"
	planAgent     = "plan"
	explorerAgent = "explorer"
	generalAgent  = "general"
)

// defaultAgent is the name that some editors use for the first agent.
const defaultAgent = "agent"

// alwaysOffered are tools of every agent, whatever tools are listed for it.
var alwaysOffered = []string{guide.SkillTool, guide.RuleTool}

const planPrompt = `
# Planning
You are in plan mode: look, think, and say what should be done; change nothing. You have no tools that write. Plain commands that only look at the workspace, such as git log or ls, each in a call of its own, run unasked; the user is asked about every other command line, so run one only if nothing else answers the question. Tasks can be handed only to agents that look.
End with a plan of concrete steps that name files and what happens in them, and with what you are not sure of. The user starts the work by choosing another agent.
`

const explorerPrompt = `
# Exploring
Another agent handed you this task. You look and search; you cannot change or run anything. Search widely first, then read what matters, several files at once.
Only your last message is handed back: answer the task there, with the files and lines that prove it, and say what you did not find. Be brief; quote only what is needed.
`

const generalPrompt = `
# A task of your own
Another agent handed you this task. Do it from beginning to end; nobody answers questions about it except through approvals.
Only your last message is handed back: say there what you did, in which files, how you checked it, and what is left.
`

// role defines an agent: of the built-in loop, or an external one with only its name, description
// and program.
type role struct {
	policy.Role
	program      *configs.Agent // of an external agent; nil: it is one of the loop
	description  string
	model        string // PROVIDER/MODEL; empty: the default
	prompt       string // our own, for a built-in agent
	instructions string
	steps        int    // requests to the model in a turn; 0: no limit
	file         string // that defines it; empty: the configuration
}

// builtinRoles returns the agents that exist without any configuration.
func builtinRoles() []role {
	offered := func(name string) policy.Role { return policy.Role{Name: name, Also: alwaysOffered} }
	code, plan, explorer, general := offered(codeAgent), offered(planAgent), offered(explorerAgent), offered(generalAgent)
	code.Primary = true
	plan.Primary, plan.Looks = true, true
	explorer.Sub, explorer.Looks = true, true
	general.Sub = true
	roles := []role{{Role: code}, {Role: plan, prompt: planPrompt}, {Role: explorer, prompt: explorerPrompt}, {Role: general, prompt: generalPrompt}}
	for i := range roles {
		roles[i].description = agents.Builtin(roles[i].Name)
	}
	return roles
}

// newRoles lists our own agents and those of the configuration, by name. An entry with the name
// of one of ours changes it, but not its right to make changes.
func newRoles(c *configs.Config, env configs.Env) ([]role, error) {
	roles := builtinRoles()
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a := c.Agents[name]
		if a.External() {
			roles = append(roles, externalRole(name, a))
			continue
		}
		instructions, err := a.Instructions.Resolve(env)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(roles, func(r role) bool { return r.Name == name })
		if i < 0 {
			i = len(roles)
			roles = append(roles, role{Role: policy.Role{
				Name:    name,
				Primary: a.Mode != "subagent",
				Sub:     a.Mode == "subagent" || a.Mode == "all",
				Also:    alwaysOffered,
			}})
		} else if a.Mode == "all" {
			roles[i].Primary, roles[i].Sub = true, true
		}
		r := &roles[i]
		r.model, r.instructions, r.steps = a.Model, instructions, a.MaxSteps
		r.Only, r.Never = a.Tools, a.DisabledTools
		if a.Description != "" {
			r.description = a.Description
		}
	}
	return roles, nil
}

// fileRoles returns the agents that files propose, and the problems with them. known reports
// whether a model is offered: a file of the workspace cannot choose another provider to receive
// its text.
func fileRoles(
	have []role,
	files []guide.Agent,
	known func(model string) bool,
) (roles []role, warnings []string) {
	for _, f := range files {
		taken := func(r role) bool { return strings.EqualFold(r.Name, f.Name) }
		if f.Name == defaultAgent || slices.ContainsFunc(have, taken) {
			warnings = append(warnings, f.File+": was left out: there already is an agent "+f.Name+"")
			continue
		}
		r := role{
			Role:        policy.Role{Name: f.Name, Also: alwaysOffered},
			file:        f.File,
			description: f.Description,
		}
		if f.Inherit != "" {
			i := slices.IndexFunc(have, func(r role) bool { return strings.EqualFold(r.Name, f.Inherit) })
			if i < 0 {
				warnings = append(warnings, f.File+": there is no agent "+display.Line(f.Inherit, 60)+" to inherit from")
			} else if have[i].program != nil {
				warnings = append(warnings, f.File+": nothing is inherited from the agent "+have[i].Name+", which is a program of its own")
			} else {
				r = have[i]
				r.Name, r.file, r.Of = f.Name, f.File, &have[i].Role
				if f.Description != "" {
					r.description = f.Description
				}
			}
		}
		r.Primary, r.Sub, r.Foreign = f.Primary, f.Subagent, !f.User
		r.Spawners = f.SpawnableBy
		if f.Instructions != "" {
			r.instructions = f.Instructions
		}
		if f.Model != "" && known(f.Model) {
			r.model = f.Model
		} else if f.Model != "" {
			warnings = append(warnings, f.File+": the model "+display.Line(f.Model, 100)+" is not among those that are offered; the default one is used")
		}
		if f.MaxSteps > 0 && (r.steps == 0 || f.MaxSteps < r.steps) {
			r.steps = f.MaxSteps
		}
		if err := policy.CheckTools(slices.Concat(f.Disabled, f.Tools.Deny, f.Tools.Allow, f.Tools.Ask)); err != nil {
			warnings = append(warnings, f.File+": was left out: "+err.Error())
			continue
		}
		r.Never = slices.Concat(r.Never, f.Disabled, f.Tools.Deny)
		switch f.Tools.Default {
		case "deny":
			r.Only, r.Asked = slices.Concat(f.Tools.Allow, f.Tools.Ask), f.Tools.Ask
			if len(r.Only) == 0 {
				r.Never = []string{"*"}
			}
		case "ask":
			r.Asked, r.Unasked = []string{"*"}, f.Tools.Allow
		default:
			r.Asked = f.Tools.Ask
		}
		roles = append(roles, r)
	}
	return roles, warnings
}

// rolesOf returns the rights of agents.
func rolesOf(roles []role) []policy.Role {
	var list []policy.Role
	for _, r := range roles {
		list = append(list, r.Role)
	}
	return list
}

// agentOf returns the agent of a role.
func (p *edition) agentOf(r role, c *configs.Config) core.Agent {
	steps := c.Limits.MaxTurnRequests
	if r.steps > 0 {
		steps = min(r.steps, steps)
	}
	return p.agent(backendSpec{role: r, steps: steps, tools: c.Limits.Tools, compactAt: c.Limits.CompactAt})
}

// loopOf returns the options of an agent's built-in loop. They refer to no configuration,
// because the loop outlives changes of the configuration that do not concern the agent.
func (p *edition) loopOf(m backendSpec) loop.Options {
	o := loop.Options{
		Model:        nextModel,
		System:       systemOf(m.role, p.guides),
		Instructions: p.guides.nested,
		MaxRequests:  m.steps,
		Trusted:      p.trusted,
		Offer:        m.role.Offers,
		MaxTools:     m.tools,
		CompactAt:    float64(m.compactAt) / 100,
	}
	if m.compactAt == 100 {
		o.CompactAt = 2 // never
	}
	return o
}

// nextModel finds the model of a turn in the profile that the turn has.
func nextModel(ctx context.Context, t *core.Turn) (inference.Model, error) {
	prof := t.Profile()
	return inference.ModelsOf(prof).Model(ctx, inference.Next(prof, t.Settings()))
}

// systemOf returns an agent's system prompt: the facts about the workspace that every agent
// gets, then its own instructions, then those of the workspace and the user.
func systemOf(r role, g *guides) func(core.Meta, string) []loop.Section {
	return func(m core.Meta, model string) []loop.Section {
		s := loop.System("dragoman", m) + r.prompt
		if r.instructions != "" {
			s += "\n# Your task\n" + strings.TrimSpace(r.instructions) + "\n"
		}
		return append([]loop.Section{{Part: inference.PartSystem, Text: s}}, g.system(m, r.Name, model)...)
	}
}

// first puts the default agent before the others that people can choose.
func (p *Profile) first(name string) {
	if i := slices.IndexFunc(p.Agents, func(a core.Agent) bool { return a.Name == name }); i > 0 {
		a := p.Agents[i]
		p.Agents = slices.Insert(slices.Delete(p.Agents, i, i+1), 0, a)
	}
}

// checkFlag returns an error if the flag --agent names no agent that people can choose.
func checkFlag(name string, roles []role) error {
	var names []string
	for _, r := range roles {
		if r.Primary {
			names = append(names, r.Name)
		}
	}
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("--agent: there is no agent %q among %s%s", name, strings.Join(names, ", "), configs.DidYouMean(name, names))
}

// AgentNames lists agents for people.
func AgentNames(list []core.Agent) string {
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}
