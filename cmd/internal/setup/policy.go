package setup

import (
	"errors"
	"fmt"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/files"
	"dragoman/core/policy"
	"dragoman/core/tools"
)

// newPolicy makes the policy of the configuration's rules. An error has the position of the rule in
// the file. Calls may not access secret files: those of stored keys and of the answers that are kept.
func newPolicy(c *configs.Config, env configs.Env, secret ...string) (*policy.Policy, error) {
	var list []policy.Rule
	for _, path := range secret {
		if path != "" {
			list = append(list, policy.Rule{Effect: core.Deny, Path: path, Own: true})
		}
	}
	where := make([]string, len(list)) // by rule: its key in the configuration
	for _, kind := range []struct {
		effect core.Effect
		name   string
		rules  []configs.Rule
	}{{core.Deny, "deny", c.Policy.Deny}, {core.MustAsk, "ask", c.Policy.Ask}, {core.Allow, "allow", c.Policy.Allow}} {
		for i, r := range kind.rules {
			list = append(list, policyRule(kind.effect, r))
			where = append(where, fmt.Sprintf("policy.%s[%d]", kind.name, i))
		}
	}
	rules, err := policy.New(policy.Options{
		Rules: list, Default: core.Effect(c.Policy.Default), Home: program.Home(env), Anywhere: c.Policy.Unattended == "anywhere",
		Resolve: files.Real, Links: files.Links,
	})
	if wrong := (*policy.RuleError)(nil); errors.As(err, &wrong) && where[wrong.Rule] != "" {
		key := where[wrong.Rule]
		at, _ := c.Where(key)
		err = &configs.Error{Problems: []configs.Problem{{Position: at, Key: key, Message: wrong.Err.Error()}}}
	}
	return rules, err
}

// policyRule translates a rule of the configuration.
func policyRule(effect core.Effect, r configs.Rule) policy.Rule {
	rule := policy.Rule{Effect: effect, Tool: r.Tool, Server: r.Server, Path: r.Path, Command: r.Command, URL: r.URL, Agent: r.Agent, Client: r.Client, Workspace: r.Workspace}
	if effect == core.Allow && r.Server == "" && tools.Named(r.Tool) {
		rule.Server = core.Native // an MCP server may have a tool of the same name
	}
	return rule
}

// cause returns the fault of a rule, without the rule's number.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
