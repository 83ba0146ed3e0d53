package main

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/guide"
	"dragoman/core/loop"
)

// The agents that are there without any configuration: two for people, two that
// other agents hand tasks to.
const (
	codeAgent     = "code"
	planAgent     = "plan"
	explorerAgent = "explorer"
	generalAgent  = "general"
)

// defaultAgent is what some editors call the first agent.
const defaultAgent = "agent"

// spawnTool is the name of the tool that hands a task to another agent.
const spawnTool = "spawn_agent"

const planPrompt = `
# Planning
You are in plan mode: look, think, and say what should be done; change nothing. Calls that write or run something are rejected here, so do not try them. Tasks can be handed only to agents that look.
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

// role is what makes an agent of the built-in loop.
type role struct {
	name, description string
	model             string // PROVIDER/MODEL; empty: the default
	prompt            string // ours, for an agent that is there without any configuration
	instructions      string
	primary, sub      bool     // people can choose it; agents can hand it tasks
	only, never       []string // the tools that it is offered, if not all; those that it is not
	of                *role    // that a file inherits from: it is offered no more than that one; nil: none
	asked, unasked    []string // tools that ask each time, and those of them that do not
	steps             int      // requests to the model in a turn; 0: as many as any
	looks             bool     // it may change and run nothing
	foreign           bool     // the workspace proposes it: what it does is asked for, each time
	spawners          []string // who may hand it tasks; empty: every agent
	file              string   // that it comes from; empty: the configuration
}

// builtinRoles are the agents that are there without any configuration.
func builtinRoles() []role {
	return []role{
		{name: codeAgent, primary: true, description: "Works on the code: reads, changes, runs, with your approval"},
		{name: planAgent, primary: true, looks: true, prompt: planPrompt, description: "Looks and makes a plan; changes nothing and runs nothing"},
		{name: explorerAgent, sub: true, looks: true, prompt: explorerPrompt, description: "Searches and reads the workspace and reports what it found; changes nothing. For questions about the code that take many searches"},
		{name: generalAgent, sub: true, prompt: generalPrompt, description: "Works on a task of its own, with the same tools and approvals, and reports what it did. For work that stands apart, or several pieces at once"},
	}
}

// newRoles lists our own agents and those of the configuration, by name. An entry
// of the name of one of ours changes it, but not whether it may change anything.
func newRoles(c *configs.Config, env configs.Env) ([]role, error) {
	roles := builtinRoles()
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a := c.Agents[name]
		instructions, err := a.Instructions.Resolve(env)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(roles, func(r role) bool { return r.name == name })
		if i < 0 {
			i = len(roles)
			roles = append(roles, role{name: name, primary: a.Mode != "subagent", sub: a.Mode == "subagent" || a.Mode == "all"})
		} else if a.Mode == "all" {
			roles[i].primary, roles[i].sub = true, true
		}
		r := &roles[i]
		r.model, r.instructions, r.steps = a.Model, instructions, a.MaxSteps
		r.only, r.never = a.Tools, a.DisabledTools
		if a.Description != "" {
			r.description = a.Description
		}
	}
	return roles, nil
}

// fileRoles are the agents that files propose, and what is wrong with them. known
// reports whether a model is among those that are offered: a file of the workspace
// cannot choose who else is sent its text.
func fileRoles(have []role, files []guide.Agent, known func(model string) bool) (roles []role, warnings []string) {
	for _, f := range files {
		taken := func(r role) bool { return strings.EqualFold(r.name, f.Name) }
		if f.Name == defaultAgent || slices.ContainsFunc(have, taken) {
			warnings = append(warnings, f.File+": was left out: the agent "+f.Name+" is there already")
			continue
		}
		r := role{name: f.Name, file: f.File, description: f.Description}
		if f.Inherit != "" {
			i := slices.IndexFunc(have, func(r role) bool { return strings.EqualFold(r.name, f.Inherit) })
			if i < 0 {
				warnings = append(warnings, f.File+": there is no agent "+oneLine(f.Inherit, 60)+" to inherit from")
			} else {
				r = have[i]
				r.name, r.file, r.of = f.Name, f.File, &have[i]
				if f.Description != "" {
					r.description = f.Description
				}
			}
		}
		r.primary, r.sub, r.foreign = f.Primary, f.Subagent, !f.User
		r.spawners = f.SpawnableBy
		if f.Instructions != "" {
			r.instructions = f.Instructions
		}
		if f.Model != "" && known(f.Model) {
			r.model = f.Model
		} else if f.Model != "" {
			warnings = append(warnings, f.File+": the model "+oneLine(f.Model, 100)+" is not among those that are offered; the default one is used")
		}
		if f.MaxSteps > 0 && (r.steps == 0 || f.MaxSteps < r.steps) {
			r.steps = f.MaxSteps
		}
		r.never = slices.Concat(r.never, f.Disabled, f.Tools.Deny)
		switch f.Tools.Default {
		case "deny":
			r.only, r.asked = slices.Concat(f.Tools.Allow, f.Tools.Ask), f.Tools.Ask
			if len(r.only) == 0 {
				r.never = []string{"*"}
			}
		case "ask":
			r.asked, r.unasked = []string{"*"}, f.Tools.Allow
		default:
			r.asked = f.Tools.Ask
		}
		roles = append(roles, r)
	}
	return roles, warnings
}

// offers reports whether the agent has a tool.
func (r role) offers(s core.Spec) bool {
	if named(r.never, s) || r.of != nil && !r.of.offers(s) {
		return false
	}
	if r.looks && r.sub && !r.primary && !looking(s) {
		return false
	}
	return len(r.only) == 0 || named(r.only, s) || s.Server == core.Native && (s.Name == guide.SkillTool || s.Name == guide.RuleTool)
}

// looking reports whether a tool can be of use to an agent that only looks.
func looking(s core.Spec) bool {
	if s.Server != core.Native {
		return s.ReadOnly
	}
	switch s.Kind {
	case core.KindRead, core.KindSearch, core.KindThink, core.KindFetch:
		return true
	case core.KindEdit, core.KindDelete, core.KindMove, core.KindExecute, core.KindOther, "":
	}
	return s.ReadOnly
}

// otherNames are what other programs' files call our tools.
var otherNames = map[string]string{
	"read": "read_file", "write": "write_file", "edit": "edit_file", "multiedit": "edit_file", "bash": "shell_command", "shell": "shell_command",
	"ls": "directory_tree", "list": "directory_tree", "webfetch": "web_fetch", "todowrite": "update_plan", "task": spawnTool, "agent": spawnTool,
	"askuserquestion": "ask_user", "question": "ask_user",
}

// named reports whether a list of tools holds one. An entry is a tool's name, a
// server's, or SERVER/NAME, where * is any text; what other programs write
// (server__name, mcp__server__name, Bash(git *)) is understood. What stands in
// parentheses does not count: the whole tool is meant.
func named(list []string, s core.Spec) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return names(entry, s) })
}

func names(entry string, s core.Spec) bool {
	entry, _, _ = strings.Cut(strings.TrimSpace(entry), "(")
	entry = strings.TrimPrefix(entry, "mcp__")
	server, name, both := strings.Cut(strings.Replace(entry, "__", "/", 1), "/")
	if !both {
		server, name = "", entry
	}
	if server == "eca" || server == "dragoman" {
		server = core.Native
	}
	if ours := otherNames[strings.ToLower(name)]; ours != "" && (server == "" || server == core.Native) && s.Server == core.Native {
		name = ours
	}
	if !both {
		return wild(name, s.Name) || s.Server != core.Native && wild(name, s.Server)
	}
	return wild(server, s.Server) && wild(name, s.Name)
}

// wild matches without regard to case; * is any text.
func wild(pattern, s string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(s))
	return ok && err == nil
}

// agentOf makes an agent of a role.
func (p *profiles) agentOf(r role, m *models, c *configs.Config) core.Agent {
	steps := c.Limits.MaxTurnRequests
	if r.steps > 0 {
		steps = min(r.steps, steps)
	}
	model := m.of(r.model)
	if r.sub && !r.primary && r.model != "" { // its session has the choice of whoever hands it a task
		of := model
		model = func(ctx context.Context, _ string) (core.Model, error) { return of(ctx, r.model) }
	}
	o := loop.Options{
		Model: model, System: systemOf(r, p.guides), Command: p.command, MaxRequests: steps, Offer: r.offers,
		MaxTools: c.Limits.Tools, CompactAt: float64(c.Limits.CompactAt) / 100,
	}
	if c.Limits.CompactAt == 100 {
		o.CompactAt = 2 // never
	}
	return core.Agent{Name: r.name, Description: r.description, Backend: &telling{loop.New(o), p.toTell}}
}

// systemOf is an agent's system prompt: what every agent is told about its
// workspace, then its own instructions, then what the workspace and the user say.
func systemOf(r role, g *guides) func(core.Meta, string) string {
	return func(m core.Meta, model string) string {
		s := loop.System("dragoman", m) + r.prompt
		if r.instructions != "" {
			s += "\n# Your task\n" + strings.TrimSpace(r.instructions) + "\n"
		}
		return s + g.system(m, r.name, model)
	}
}
