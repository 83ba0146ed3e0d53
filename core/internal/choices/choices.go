// Package choices has the options that an agent offers, and chosen values of them in a form that can
// be compared.
package choices

import (
	"encoding/json"
	"maps"
)

// Choices are values by name: a JSON object with sorted names, or empty. Equal ones are ==.
type Choices string

// All returns the values.
func (c Choices) All() map[string]string {
	all := map[string]string{}
	// Only a damaged log has something else; it then has no values.
	_ = json.Unmarshal([]byte(c), &all)
	return all
}

// Get returns a value; "" if there is none.
func (c Choices) Get(name string) string { return c.All()[name] }

// With returns the choices with one more, or another value; "" removes it.
func (c Choices) With(name, value string) Choices {
	all := c.All()
	if all[name] = value; value == "" {
		delete(all, name)
	}
	return Of(all)
}

// Over returns the choices, and those of base that they do not have.
func (c Choices) Over(base Choices) Choices {
	all := base.All()
	maps.Copy(all, c.All())
	return Of(all)
}

// Of returns the choices of a map.
func Of(all map[string]string) Choices {
	if len(all) == 0 {
		return ""
	}
	b, err := json.Marshal(all)
	if err != nil { // texts can always be encoded
		return ""
	}
	return Choices(b)
}

// Left holds the choices of agents that were left, by their names.
type Left map[string]Choices

// Of returns the choices for an agent that is chosen in place of another one: what was chosen for that
// means nothing to it, so it gets back its own. was are those of the agent before ("": the default one,
// which may be the same by its name), and now those that come with the choice.
func (l Left) Of(before, agent string, was, now Choices) Choices {
	if before != agent && (now == "" || before != "" && now == was) {
		return l[agent]
	}
	return now
}
