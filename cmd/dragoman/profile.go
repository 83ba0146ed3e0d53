package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/llm"
	"dragoman/core/loop"
	"dragoman/core/policy"
	"dragoman/core/tools"
)

// profiles makes the core's profile out of the configuration: at the first
// session or prompt, not at the start. What is wrong is told each time, and looked
// at again each time, so that mending the file is enough.
type profiles struct {
	app   *app
	logs  *logs
	board *core.Board // is told of the native tools

	mu   sync.Mutex // guards the fields below
	made *profile
}

// profile is a core.Profile and what stands behind it.
type profile struct {
	core.Profile
	config   *configs.Config
	choice   configs.Choice
	registry *llm.Registry
}

// get is core.Config.Profile. Its error is the configuration's own: file, line,
// column, key, and what to write instead.
func (p *profiles) get(context.Context, []string) (*core.Profile, error) {
	made, err := p.load()
	if err != nil {
		return nil, err
	}
	return &made.Profile, nil
}

func (p *profiles) load() (*profile, error) {
	p.mu.Lock()
	made := p.made
	p.mu.Unlock()
	if made != nil {
		return made, nil
	}
	config, err := p.app.loadConfig()
	if err != nil {
		return nil, err
	}
	if made, err = newProfile(config, p.app.env, p.app.configFile()); err != nil {
		return nil, err
	}
	p.mu.Lock()
	if p.made != nil { // somebody was quicker
		made = p.made
		p.mu.Unlock()
		return made, nil
	}
	p.made = made
	p.mu.Unlock()
	p.logs.follow(config)
	p.board.Put(core.Topic{Kind: "server", Name: core.Native}, nativeServer(made.Toolboxes[0]))
	for _, w := range config.Warnings {
		p.logs.logger.Warn("configuration", zap.String("warning", w.String()))
	}
	p.logs.logger.Info("configuration read", zap.String("file", config.Source), zap.Stringer("model", made.choice), zap.String("because", made.choice.Reason))
	return made, nil
}

// nativeServer lists our own tools for clients that show what there is.
func nativeServer(box core.Toolbox) core.ServerItem {
	item := core.ServerItem{Name: core.Native, Status: "running"}
	set, err := box.Open(context.Background(), nil) // it touches nothing before a call
	if err != nil {
		item.Status, item.Why = "failed", err.Error()
		return item
	}
	list, err := set.Tools(context.Background())
	if err = errors.Join(err, set.Close()); err != nil {
		item.Status, item.Why = "failed", err.Error()
	}
	for _, t := range list {
		item.Tools = append(item.Tools, t.Spec())
	}
	return item
}

// close gives up the connections to models.
func (p *profiles) close() {
	p.mu.Lock()
	made := p.made
	p.mu.Unlock()
	if made != nil {
		made.registry.Close()
	}
}

// newProfile translates a configuration. keyFile is where a person would write a
// key. It opens nothing but the files that agents' instructions refer to.
func newProfile(c *configs.Config, env configs.Env, keyFile string) (*profile, error) {
	rules, err := newPolicy(c, env)
	if err != nil {
		return nil, err
	}
	m := newModels(c, env, keyFile)
	g := newGuides(env)
	agents, err := newAgents(c, env, m, g)
	if err != nil {
		return nil, err
	}
	return &profile{
		config: c, choice: m.choice, registry: m.registry,
		Profile: core.Profile{
			Agents: agents, Models: m.infos(), DefaultModel: m.choice.String(),
			Toolboxes: []core.Toolbox{tools.New(tools.Options{}), g},
			Policy:    lookOnly{rules}, AskTimeout: c.Policy.AskTimeout, Commands: g.commands,
		},
	}, nil
}

// The agents that are there without any configuration.
const (
	codeAgent = "code"
	planAgent = "plan"
)

const planPrompt = `
# Planning
You are in plan mode: look, think, and say what should be done; change nothing. Calls that write or run something are rejected here, so do not try them.
End with a plan of concrete steps that name files and what happens in them, and with what you are not sure of. The user starts the work by choosing another agent.
`

// newAgents lists the agents that people can choose: our own first, then those of
// the configuration by name. An entry of the name of one of ours changes it.
func newAgents(c *configs.Config, env configs.Env, m *models, g *guides) ([]core.Agent, error) {
	named := map[string]configs.Agent{
		codeAgent: {Description: "Works on the code: reads, changes, runs, with your approval"},
		planAgent: {Description: "Looks and makes a plan; changes nothing and runs nothing"},
	}
	for name, a := range c.Agents {
		if a.Description == "" {
			a.Description = named[name].Description
		}
		named[name] = a
	}
	names := slices.Sorted(maps.Keys(named))
	names = slices.DeleteFunc(names, func(n string) bool { return n == codeAgent || n == planAgent || named[n].Mode == "subagent" })
	var agents []core.Agent
	for _, name := range append([]string{codeAgent, planAgent}, names...) {
		a := named[name]
		instructions, err := a.Instructions.Resolve(env)
		if err != nil {
			return nil, err
		}
		agents = append(agents, core.Agent{Name: name, Description: a.Description, Backend: loop.New(loop.Options{
			Model: m.of(a.Model), System: systemOf(name, instructions, g), Command: g.command(m, c), MaxRequests: c.Limits.MaxTurnRequests,
		})})
	}
	return agents, nil
}

// systemOf is an agent's system prompt: what every agent is told about its
// workspace, then its own instructions, then what the workspace and the user say.
func systemOf(name, instructions string, g *guides) func(core.Meta, string) string {
	return func(m core.Meta, model string) string {
		s := loop.System("dragoman", m)
		if name == planAgent {
			s += planPrompt
		}
		if instructions != "" {
			s += "\n# Your task\n" + strings.TrimSpace(instructions) + "\n"
		}
		return s + g.system(m, name, model)
	}
}

// lookOnly holds the plan agent to reading, whatever the rules say.
type lookOnly struct{ core.Policy }

// Decide implements core.Policy.
func (p lookOnly) Decide(c core.Check) core.Verdict {
	if c.Settings.Agent == planAgent {
		c.Origin.Approvals = core.ApprovalsReadOnly
	}
	return p.Policy.Decide(c)
}

// newPolicy makes the policy of the configuration's rules. An error points at the
// rule in the file.
func newPolicy(c *configs.Config, env configs.Env) (*policy.Policy, error) {
	var rules []policy.Rule
	var keys []string
	for _, list := range []struct {
		effect core.Effect
		name   string
		rules  []configs.Rule
	}{{core.Deny, "deny", c.Policy.Deny}, {core.MustAsk, "ask", c.Policy.Ask}, {core.Allow, "allow", c.Policy.Allow}} {
		for i, r := range list.rules {
			rules = append(rules, policy.Rule{Effect: list.effect, Tool: r.Tool, Server: r.Server, Path: r.Path, Command: r.Command, URL: r.URL})
			keys = append(keys, fmt.Sprintf("policy.%s[%d]", list.name, i))
		}
	}
	home := homeOf(env)
	for i := range rules { // one by one first, so that the message can say where
		if _, err := policy.New(policy.Options{Rules: rules[i : i+1], Home: home}); err != nil {
			at, _ := c.Where(keys[i])
			cause := err
			if inner := errors.Unwrap(err); inner != nil {
				cause = inner
			}
			return nil, &configs.Error{Problems: []configs.Problem{{Position: at, Key: keys[i], Message: cause.Error()}}}
		}
	}
	return policy.New(policy.Options{Rules: rules, Default: core.Effect(c.Policy.Default), Home: home})
}
