package choices

import (
	"errors"
	"fmt"
	"slices"
)

// Option is an option of an agent, and its current value.
type Option struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Description string  `json:"description,omitempty"`
	Category    string  `json:"category,omitempty"` // mode, model, thought_level, model_config or the agent's own
	Boolean     bool    `json:"boolean,omitempty"`  // its values are "true" and "false"
	Value       string  `json:"value"`
	Values      []Value `json:"values,omitempty"`
}

// Value is a value that can be chosen.
type Value struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Group       string `json:"group,omitempty"`
}

// Takes reports whether the option has a value of that id.
func (o Option) Takes(id string) bool {
	return o.Boolean && (id == "true" || id == "false") || slices.ContainsFunc(o.Values, func(v Value) bool { return v.ID == id })
}

// Find returns the option of an id in a list; nil: there is none.
func Find(list []Option, id string) *Option {
	if i := slices.IndexFunc(list, func(o Option) bool { return o.ID == id }); i >= 0 {
		return &list[i]
	}
	return nil
}

// Set returns a copy of a list in which an option has another value.
func Set(list []Option, id, value string) []Option {
	list = slices.Clone(list)
	if o := Find(list, id); o != nil {
		o.Value = value
	}
	return list
}

// ValueOf returns the value of the first option of a category in a list that has values to choose; "":
// there is none.
func ValueOf(list []Option, category string) string {
	for _, o := range list {
		if o.Category == category && len(o.Values) > 0 {
			return o.Value
		}
	}
	return ""
}

// Check returns an error if an option that an agent offers does not have a value.
func Check(agent string, list []Option, id, value string) error {
	o := Find(list, id)
	switch {
	case agent == "":
		return errors.New("the session's agent has no options")
	case o == nil:
		return fmt.Errorf("agent %s has no option %q", agent, id)
	case !o.Takes(value):
		return fmt.Errorf("agent %s has no value %q of option %s", agent, value, id)
	}
	return nil
}
