package offer

import (
	"slices"
	"testing"

	"dragoman/core"
)

// An unknown agent falls back to the default one; "plan" never becomes one that may write.
func TestAgents(t *testing.T) {
	none := New(nil)
	two := New(&core.Profile{Agents: []core.Agent{{Name: "main"}, {Name: "reviewer"}}})
	plan := New(&core.Profile{Agents: []core.Agent{{Name: "main"}, {Name: "plan"}}})
	only := New(&core.Profile{Agents: []core.Agent{{Name: "plan"}}})
	for _, c := range []struct {
		o    *Offer
		word string
		name string
		plan bool
	}{
		{none, "code", "", false},
		{none, "plan", "", true},
		{two, "agent", "", false},
		{two, "main", "", false},
		{two, "reviewer", "reviewer", false},
		{two, "plan", "", true},
		{two, "nonsense", "", false},
		{plan, "plan", "plan", false},
		{plan, "agent", "", false},
		{only, "plan", "", false},
	} {
		if name, _, plan := c.o.AgentOf(c.word); name != c.name || plan != c.plan {
			t.Errorf("%s of %v: got %q, %t", c.word, c.o.Agents, name, plan)
		}
	}
	if want := []string{"agent", "plan", "reviewer"}; !slices.Equal(two.Behaviors, want) {
		t.Errorf("behaviors: got %q, want %q", two.Behaviors, want)
	}
	if want := []string{"main", "plan"}; !slices.Equal(plan.Agents, want) {
		t.Errorf("agents: got %q, want %q", plan.Agents, want)
	}
}
