package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// configOption is an option of a session as an agent describes it.
type configOption struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Category     string          `json:"category"`
	Type         string          `json:"type"`
	CurrentValue json.RawMessage `json:"currentValue"` // a text, or true or false
	Options      []configValue   `json:"options"`
}

// configValue is a value of an option, or a group of values.
type configValue struct {
	Value       string        `json:"value"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Group       string        `json:"group"`
	Options     []configValue `json:"options"`
}

// The ids of the choices that an agent offers in the older forms, which have none.
const (
	modeChoice  = "mode"
	modelChoice = "model"
)

// choice returns an option as core knows it.
func (o configOption) choice() core.Choice {
	c := core.Choice{
		ID: o.ID, Name: o.Name, Description: o.Description, Category: o.Category, Boolean: o.Type == "boolean", Value: valueOf(o.CurrentValue),
	}
	for _, v := range o.Options {
		if v.Options == nil {
			c.Values = append(c.Values, core.ChoiceValue{ID: v.Value, Name: v.Name, Description: v.Description})
		}
		for _, w := range v.Options {
			c.Values = append(c.Values, core.ChoiceValue{ID: w.Value, Name: w.Name, Description: w.Description, Group: v.Name})
		}
	}
	return c
}

// valueOf returns a value as text.
func valueOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// choices returns the options that an agent has listed. The older forms count where it has none of
// the newer one for the same.
func (is opened) choices() (list []core.Choice) {
	for _, o := range is.ConfigOptions {
		if o.ID != "" {
			list = append(list, o.choice())
		}
	}
	if m := is.Modes; m != nil && !hasChoice(list, acp.CategoryMode) {
		mode := core.Choice{ID: modeChoice, Name: "Mode", Category: acp.CategoryMode, Value: m.CurrentModeID}
		for _, v := range m.AvailableModes {
			mode.Values = append(mode.Values, core.ChoiceValue{ID: v.ID, Name: v.Name, Description: v.Description})
		}
		list = append(list, mode)
	}
	if m := is.Models; m != nil && !hasChoice(list, acp.CategoryModel) {
		model := core.Choice{ID: modelChoice, Name: "Model", Category: acp.CategoryModel, Value: m.CurrentModelID}
		for _, v := range m.AvailableModels {
			model.Values = append(model.Values, core.ChoiceValue{ID: v.ModelID, Name: v.Name, Description: v.Description})
		}
		list = append(list, model)
	}
	return list
}

func hasChoice(list []core.Choice, category string) bool {
	return slices.ContainsFunc(list, func(c core.Choice) bool { return c.Category == category || c.ID == category })
}

// options takes the options that an agent has listed.
func (f *flow) options(is opened) {
	c := f.c
	list := is.choices()
	c.mu.Lock()
	if is.SessionID == "" && is.Modes == nil && is.Models == nil { // an update: the older forms stay
		newer := slices.Clone(list)
		for _, old := range c.offered.Choices {
			if c.older[old.ID] && !hasChoice(newer, old.Category) {
				list = append(list, old)
			}
		}
	} else {
		c.older = map[string]bool{
			modeChoice:  is.Modes != nil && !hasOption(is.ConfigOptions, modeChoice),
			modelChoice: is.Models != nil && !hasOption(is.ConfigOptions, modelChoice),
		}
	}
	same := reflect.DeepEqual(c.offered.Choices, list)
	c.offered.Choices = list
	ready := c.ready
	c.mu.Unlock()
	if !same && ready {
		f.offer()
	}
}

func hasOption(list []configOption, id string) bool {
	return slices.ContainsFunc(list, func(o configOption) bool { return o.ID == id || o.Category == id })
}

// mode takes a change of the mode in the older form.
func (f *flow) mode(id string) {
	c := f.c
	c.mu.Lock()
	changed := false
	list := slices.Clone(c.offered.Choices)
	for i := range list {
		if list[i].Category == acp.CategoryMode && list[i].Value != id {
			list[i].Value, changed = id, true
		}
	}
	c.offered.Choices = list
	ready := c.ready
	c.mu.Unlock()
	if changed && ready {
		f.offer()
	}
}

// offer has the log keep what the agent offers.
func (f *flow) offer() {
	f.c.mu.Lock()
	now := f.c.offered
	f.c.mu.Unlock()
	now.Agent = f.c.b.o.Name
	f.emitApart(now)
}

// offer publishes what the agent offers, once its session is open.
func (c *conversation) offer(ctx context.Context) {
	c.mu.Lock()
	c.ready = true
	now := c.offered
	c.mu.Unlock()
	now.Agent = c.b.o.Name
	_ = c.bind.Host.Publish(ctx, now) // a session that cannot be stored says so itself
}

// wanted lists the values of the agent's options at its start: those that are configured, those that
// the user has chosen, and those that the agent has chosen itself since.
func (c *conversation) wanted() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	want := c.chosen.All()
	maps.Copy(want, c.moved)
	for id, value := range c.b.o.Choices {
		if _, ok := want[id]; !ok {
			want[id] = value
		}
	}
	return want
}

// itself takes a change of options that the agent makes by itself. Where a value was wanted, the new
// one is from now on: a start must not set it back.
func (f *flow) itself(change func()) {
	c := f.c
	want := c.wanted()
	c.mu.Lock()
	was, counts := c.offered, c.ready && !c.opening && c.choosing == 0
	c.mu.Unlock()
	change()
	if !counts {
		return
	}
	c.mu.Lock()
	for _, now := range c.offered.Choices {
		if old := was.Choice(now.ID); old != nil && old.Value != now.Value && want[now.ID] != "" {
			c.moved[now.ID] = now.Value
		}
	}
	c.mu.Unlock()
	c.keepMoved(c.stage.Running())
}

// keepMoved has the session's settings follow what the agent has changed by itself. Without a turn the
// next one does it.
func (c *conversation) keepMoved(ctx context.Context, t *core.Turn) {
	c.mu.Lock()
	moved := maps.Clone(c.moved)
	c.mu.Unlock()
	if len(moved) == 0 || t == nil {
		return
	}
	set := t.State().Settings
	for id, value := range moved {
		set.Choices = set.Choices.With(id, value)
	}
	if t.Set(ctx, set) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, value := range moved {
		if c.moved[id] == value { // else the user has chosen meanwhile
			c.chosen = c.chosen.With(id, value)
			delete(c.moved, id)
		}
	}
}

// applyChoices sets options of the agent. One that it does not have, or whose value it refuses, is
// reported.
func (c *conversation) applyChoices(ctx context.Context, p *peer, want map[string]string) {
	// The mode and the model first: other options may depend on them.
	order := slices.SortedFunc(maps.Keys(want), func(a, b string) int { return choiceRank(a) - choiceRank(b) })
	for _, id := range order {
		c.mu.Lock()
		have := c.offered.Choice(id)
		c.mu.Unlock()
		switch {
		case have == nil:
			c.notice(core.Warning, fmt.Sprintf("it has no option %q, which is set to %q", id, want[id]))
		case have.Value != want[id]:
			if err := c.choose(ctx, p, *have, want[id]); err != nil {
				c.notice(core.Warning, fmt.Sprintf("it refused the value %q of its option %q: %v", want[id], id, err))
			}
		}
	}
}

func choiceRank(id string) int {
	switch id {
	case modeChoice:
		return 0
	case modelChoice:
		return 1
	}
	return 2
}

// Choose implements core.Chooser.
func (c *conversation) Choose(ctx context.Context, id, value string) error {
	c.mu.Lock()
	p, have := c.peer, c.offered.Choice(id)
	c.mu.Unlock()
	switch {
	case p == nil || !p.alive(): // it is set when the agent runs
	case have == nil:
		return fmt.Errorf("agent %s has no option %q", c.b.o.Name, id)
	case have.Value != value:
		if err := c.choose(ctx, p, *have, value); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chosen = c.chosen.With(id, value)
	delete(c.moved, id)
	return nil
}

// choose sets an option of the agent.
func (c *conversation) choose(ctx context.Context, p *peer, have core.Choice, value string) error {
	c.mu.Lock()
	session, older := c.session, c.older[have.ID]
	c.choosing++
	c.mu.Unlock()
	settled := sync.OnceFunc(func() {
		c.mu.Lock()
		c.choosing--
		c.mu.Unlock()
	})
	defer settled()
	method, params := "session/set_config_option", map[string]any{"sessionId": session, "configId": have.ID, "value": value}
	switch {
	case have.Boolean:
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("option %s is true or false, and not %q", have.ID, value)
		}
		params["value"], params["type"] = on, "boolean"
	case older && have.Category == acp.CategoryMode:
		method, params = "session/set_mode", map[string]any{"sessionId": session, "modeId": value}
	case older:
		method, params = "session/set_model", map[string]any{"sessionId": session, "modelId": value}
	}
	limit := c.b.limits.choose
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer %s within %v", method, limit))
	defer cancel()
	got := make(chan error, 1)
	ask, err := p.conn.Start(method, params, func(raw json.RawMessage, err error) {
		if err == nil {
			c.flow.chosen(have.ID, value, raw)
		}
		settled()
		got <- err
	})
	if err != nil {
		return err
	}
	select {
	case err := <-got:
		return c.b.failure(method, err)
	case <-ctx.Done():
		ask.Withdraw()
		return context.Cause(ctx)
	}
}

// chosen takes the answer to a choice: the new value, and with it the whole list where the agent
// returns it. It runs on the reading goroutine.
func (f *flow) chosen(id, value string, raw json.RawMessage) {
	var is opened
	if wire.Unmarshal(raw, &is) == nil && is.ConfigOptions != nil {
		f.options(is)
		return
	}
	c := f.c
	c.mu.Lock()
	list := slices.Clone(c.offered.Choices)
	for i := range list {
		if list[i].ID == id {
			list[i].Value = value
		}
	}
	c.offered.Choices = list
	ready := c.ready
	c.mu.Unlock()
	if ready {
		f.offer()
	}
}
