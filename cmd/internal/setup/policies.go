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

// newPolicies makes the policy of the configuration's rules, and a second one without the rules
// that allow anything. An error has the position of the rule in the file. Calls may not access
// the files of stored keys, nor that of the answers that are kept.
func newPolicies(
	c *configs.Config,
	env configs.Env,
	keys ...string,
) (rules, strict *policy.Policy, err error) {
	var all, others []policy.Rule
	home := program.Home(env)
	for _, path := range keys {
		if path == "" {
			continue
		}
		ours := policy.Rule{Effect: core.Deny, Path: path, Own: true}
		all, others = append(all, ours), append(others, ours)
	}
	for _, list := range []struct {
		effect core.Effect
		name   string
		rules  []configs.Rule
	}{{core.Deny, "deny", c.Policy.Deny}, {core.MustAsk, "ask", c.Policy.Ask}, {core.Allow, "allow", c.Policy.Allow}} {
		for i, r := range list.rules {
			rule := policyRule(list.effect, r)
			// One by one first, so that the message contains the position.
			if _, err := policy.New(policy.Options{Rules: []policy.Rule{rule}, Home: home}); err != nil {
				key := fmt.Sprintf("policy.%s[%d]", list.name, i)
				at, _ := c.Where(key)
				return nil, nil, &configs.Error{
					Problems: []configs.Problem{{Position: at, Key: key, Message: cause(err).Error()}},
				}
			}
			if all = append(all, rule); list.effect != core.Allow {
				others = append(others, rule)
			}
		}
	}
	fallback, anywhere := core.Effect(c.Policy.Default), c.Policy.Unattended == "anywhere"
	if rules, err = policy.New(policy.Options{Rules: all, Default: fallback, Home: home, Anywhere: anywhere, Resolve: files.Real, Links: files.Links}); err != nil {
		return nil, nil, err
	}
	if fallback == core.Allow {
		fallback = core.MustAsk
	}
	strict, err = policy.New(policy.Options{Rules: others, Default: fallback, Home: home, Anywhere: anywhere, Resolve: files.Real, Links: files.Links})
	return rules, strict, err
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
