package ecaserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// The options of a session, and their categories.
const (
	agentChoice   = "agent"
	modelChoice   = "model"
	variantChoice = "variant"

	modeCategory  = "mode"
	modelCategory = "model"
	levelCategory = "thought_level"
)

// noVariant is the value of the option that leaves the variant to the server.
const noVariant = "default"

// config holds the choices that a server offers, and the current ones. A nil member was not sent.
type config struct {
	Models  []string `json:"models"`
	Model   *string  `json:"selectModel"`
	Agents  []string `json:"agents"`
	Agent   *string  `json:"selectAgent"`
	Modes   []string `json:"behaviors"` // of 000
	Mode    *string  `json:"selectBehavior"`
	Default *string  `json:"defaultModel"`

	Variants []string        `json:"variants"`
	Variant  json.RawMessage `json:"selectVariant"` // a text, or null
	Welcome  string          `json:"welcomeMessage"`
}

// over returns a config with what another one leaves out.
func (c config) over(base config) config {
	if c.Models == nil {
		c.Models = base.Models
	}
	if c.Model == nil {
		c.Model = base.Model
	}
	if c.Agents == nil {
		c.Agents = base.Agents
	}
	if c.Agent == nil {
		c.Agent = base.Agent
	}
	if c.Modes == nil {
		c.Modes = base.Modes
	}
	if c.Mode == nil {
		c.Mode = base.Mode
	}
	if c.Default == nil {
		c.Default = base.Default
	}
	if c.Variants == nil {
		c.Variants = base.Variants
	}
	if c.Variant == nil {
		c.Variant = base.Variant
	}
	return c
}

// choices returns the options that a session has with a config.
func (c config) choices() (list []core.Choice) {
	agents, agent := c.Agents, first(c.Agent)
	if len(agents) == 0 {
		agents, agent = c.Modes, first(c.Mode)
	}
	if len(agents) > 0 {
		list = append(list, choice(agentChoice, "Agent", modeCategory, agent, agents))
	}
	if len(c.Models) > 0 {
		list = append(list, choice(modelChoice, "Model", modelCategory, first(c.Model, c.Default), c.Models))
	}
	if len(c.Variants) > 0 {
		variant := ""
		_ = json.Unmarshal(c.Variant, &variant) // null: none
		values := c.Variants
		if !slices.Contains(values, noVariant) {
			values = slices.Concat([]string{noVariant}, values)
		}
		if variant == "" {
			variant = noVariant
		}
		list = append(list, choice(variantChoice, "Variant", levelCategory, variant, values))
	}
	return list
}

func choice(id, name, category, value string, values []string) core.Choice {
	c := core.Choice{ID: id, Name: name, Category: category, Value: value}
	for _, v := range values {
		c.Values = append(c.Values, core.ChoiceValue{ID: v, Name: v})
	}
	return c
}

// first returns the first text that is there.
func first(list ...*string) string {
	for _, text := range list {
		if text != nil && *text != "" {
			return *text
		}
	}
	return ""
}

// configUpdated handles config/updated: for all chats, or for one.
func (p *peer) configUpdated(params json.RawMessage) {
	var u struct {
		ChatID string  `json:"chatId"`
		Chat   *config `json:"chat"`
	}
	if wire.Unmarshal(params, &u) != nil || u.Chat == nil {
		return
	}
	if u.ChatID == "" {
		p.mu.Lock()
		p.config = u.Chat.over(p.config)
		says := len(p.config.Models) > 0 || len(p.config.Agents) > 0 || len(p.config.Modes) > 0
		select {
		case <-p.offered:
		default:
			if says {
				close(p.offered)
			}
		}
		p.mu.Unlock()
		if p.c != nil {
			p.c.offer(p)
		}
		return
	}
	if p.c == nil || p.chat(u.ChatID) != p.c.root {
		return
	}
	p.c.mu.Lock()
	p.c.own = u.Chat.over(p.c.own)
	p.c.mu.Unlock()
	p.c.offer(p)
}

// choices returns the options of the session, with the values that hold for it.
func (c *conversation) choices(p *peer) []core.Choice {
	p.mu.Lock()
	all := p.config
	p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.own.over(all).choices()
	for id, value := range c.wantedLocked() {
		if o := (core.Offered{Choices: list}).Choice(id); o != nil && o.Takes(value) {
			o.Value = value
		}
	}
	return list
}

// wantedLocked returns the values that the user, or else the configuration, wants.
func (c *conversation) wantedLocked() map[string]string {
	want := maps.Clone(c.b.o.Choices)
	if want == nil {
		want = map[string]string{}
	}
	maps.Copy(want, c.chosen)
	return want
}

// offer has the log keep what the server offers, once the chat is open, if that is new.
func (c *conversation) offer(p *peer) {
	list := c.choices(p)
	c.mu.Lock()
	now := core.Offered{Agent: c.b.o.Name, Choices: list, Commands: c.list}
	same := !c.ready || reflect.DeepEqual(now, c.told)
	if !same {
		c.told = now
	}
	c.mu.Unlock()
	if !same {
		c.root.apart(now)
	}
}

// modelNow returns the model of the chat; "": it is not known.
func (c *conversation) modelNow() string {
	p := c.program()
	if p == nil {
		return ""
	}
	if o := (core.Offered{Choices: c.choices(p)}).Choice(modelChoice); o != nil {
		return o.Value
	}
	return ""
}

// Set implements core.Conversation: the settings apply from the next prompt on.
func (c *conversation) Set(_ context.Context, set core.Settings) error {
	c.mu.Lock()
	was := c.chosen
	c.chosen = set.Choices.All()
	p, now := c.peer, c.chosen
	c.mu.Unlock()
	if p == nil || !p.alive() {
		return nil
	}
	for id, value := range now {
		if was[id] != value {
			c.tell(p, id)
		}
	}
	c.complain(p, was)
	c.offer(p)
	return nil
}

// Choose implements core.Chooser.
func (c *conversation) Choose(_ context.Context, id, value string) error {
	p := c.program()
	if p != nil && p.alive() {
		o := (core.Offered{Choices: c.choices(p)}).Choice(id)
		switch {
		case o == nil:
			return fmt.Errorf("agent %s has no option %q", c.b.o.Name, id)
		case !o.Takes(value):
			return fmt.Errorf("agent %s has no value %q for its option %q", c.b.o.Name, value, id)
		}
	}
	c.mu.Lock()
	c.chosen = maps.Clone(c.chosen)
	if c.chosen == nil {
		c.chosen = map[string]string{}
	}
	c.chosen[id] = value
	c.mu.Unlock()
	if p != nil && p.alive() {
		c.tell(p, id)
		c.offer(p)
	}
	return nil
}

// tell tells the server of a choice: what else it offers may depend on it. The choice itself goes with each
// prompt.
func (c *conversation) tell(p *peer, id string) {
	params := map[string]any{"chatId": c.root.id}
	method := eca.MethodModelSelected
	model, agent, variant := c.selection(p)
	switch id {
	case agentChoice:
		method = eca.MethodAgentSelected
		params["agent"], params["behavior"] = agent, agent
	case modelChoice, variantChoice:
		if model == "" {
			return
		}
		params["model"], params["variant"] = model, nullable(variant)
	default:
		return
	}
	_ = p.conn.Notify(method, params) // a program that has ended needs none
}

// selection returns the chosen model, agent and variant that the server has; "": the choice is its own.
func (c *conversation) selection(p *peer) (model, agent, variant string) {
	list := core.Offered{Choices: c.choices(p)}
	c.mu.Lock()
	want := c.wantedLocked()
	c.mu.Unlock()
	of := func(id string) string {
		if o := list.Choice(id); o != nil && o.Takes(want[id]) {
			return want[id]
		}
		return ""
	}
	model, agent, variant = of(modelChoice), of(agentChoice), of(variantChoice)
	if variant == noVariant {
		variant = ""
	}
	if o := list.Choice(modelChoice); variant != "" && model == "" && o != nil {
		model = o.Value
	}
	return model, agent, variant
}

func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// complain reports wanted values that the server does not have, but for those that were wanted before.
func (c *conversation) complain(p *peer, before map[string]string) {
	list := core.Offered{Choices: c.choices(p)}
	c.mu.Lock()
	want := c.wantedLocked()
	c.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(want)) {
		o := list.Choice(id)
		switch {
		case before != nil && before[id] == want[id]:
		case o == nil && id != variantChoice: // the variants are those of the model
			c.notice(core.Warning, fmt.Sprintf("it has no option %q, which is set to %q", id, want[id]))
		case o != nil && !o.Takes(want[id]):
			c.notice(core.Warning, fmt.Sprintf("it has no value %q for its option %q", want[id], id))
		}
	}
}
