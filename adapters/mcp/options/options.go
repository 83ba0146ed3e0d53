// Package options sets the options of an external agent for a caller of agent_prompt, and lists them
// for its model.
package options

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// Wanted are the options that a caller names.
type Wanted struct {
	Model  string         // a value of the agent's option of models; "": the present one
	Values map[string]any // texts and booleans, by the ids of the agent's options
	// Any permits every option; otherwise only those that cannot change what the agent asks about.
	Any bool
}

// None reports whether no option is named.
func (w Wanted) None() bool { return w.Model == "" && len(w.Values) == 0 }

// harmless are the categories of options that do not change what an agent asks about (ACP, Session
// Config Options).
var harmless = []string{categoryModel, "thought_level", "model_config"}

const categoryModel = "model"

// maxListed limits a list of names in an error, in characters.
const maxListed = 1000

// gateway is what Set needs of core's.
type gateway interface {
	Prepare(ctx context.Context, a *core.Attachment) error
	Choose(ctx context.Context, a *core.Attachment, id, value string) error
}

// Set starts the agent of a session, unless its options are known, and sets those that are wanted:
// the model first, because other options depend on it, then by name. It blocks until the agent has
// agreed to each; those before a refused one stay set. While a turn runs it returns a
// *core.BusyError and sets nothing.
func Set(ctx context.Context, g gateway, a *core.Attachment, w Wanted) error {
	if turn := a.State().Turn; turn != "" {
		return &core.BusyError{Turn: turn}
	}
	if err := g.Prepare(ctx, a); err != nil {
		return err
	}
	if w.Model != "" {
		o := offered(a.State())
		i := slices.IndexFunc(o.Choices, func(c core.Choice) bool { return c.Category == categoryModel })
		if i < 0 {
			return fmt.Errorf("set the model %q: agent %s offers no choice of models", w.Model, o.Agent)
		}
		if err := w.set(ctx, g, a, o.Choices[i].ID, w.Model); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.Values)) {
		if err := w.set(ctx, g, a, id, w.Values[id]); err != nil {
			return err
		}
	}
	return nil
}

// set sets one option, unless it has been chosen before.
func (w Wanted) set(ctx context.Context, g gateway, a *core.Attachment, id string, wanted any) error {
	value := fmt.Sprint(wanted)
	st := a.State()
	o := offered(st)
	c := o.Choice(id)
	switch {
	case c == nil:
		return fmt.Errorf("agent %s has no option %q; it has %s", o.Agent, id, names(o.Choices, func(c core.Choice) string { return c.ID }))
	case !c.Takes(value):
		return fmt.Errorf("agent %s has no value %q of the option %s; it has %s", o.Agent, value, id, names(values(*c), strconv.Quote))
	case !w.Any && !slices.Contains(harmless, c.Category):
		return fmt.Errorf("the option %s may change what agent %s asks about: a client of MCP sets it only where the gateway's configuration has mcp.allow_auto; agents.%s.options in the configuration sets it for every session", id, o.Agent, o.Agent)
	case c.Value == value && st.Settings.Choices.Get(id) == value:
		return nil
	}
	return g.Choose(ctx, a, id, value)
}

// offered returns what the session's present agent has offered.
func offered(st core.State) core.Offered {
	if st.Offered.Agent != st.Settings.Agent {
		return core.Offered{Agent: st.Settings.Agent}
	}
	return st.Offered
}

func names[T any](list []T, name func(T) string) string {
	var all []string
	for _, v := range list {
		all = append(all, name(v))
	}
	if len(all) == 0 {
		return "none"
	}
	return display.Line(strings.Join(all, ", "), maxListed)
}

// values returns the values of an option.
func values(c core.Choice) []string {
	if c.Boolean {
		return []string{"false", "true"}
	}
	var all []string
	for _, v := range c.Values {
		all = append(all, v.ID)
	}
	return all
}

// Option is an option of the session's agent in the result of session_get.
type Option struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Value  string   `json:"value"`
	Values []string `json:"values"`
}

// List returns the options that the session's agent has offered.
func List(st core.State) []Option {
	var list []Option
	for _, c := range offered(st).Choices {
		list = append(list, Option{c.ID, display.Line(c.Name, maxListed), c.Value, values(c)})
	}
	return list
}

// String returns the option in one line for a model.
func (o Option) String() string {
	return display.Line(fmt.Sprintf("%s = %s (%s; values: %s)", o.ID, o.Value, o.Name, strings.Join(o.Values, ", ")), maxListed)
}
