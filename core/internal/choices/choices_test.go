package choices

import (
	"maps"
	"testing"
)

func TestChoices(t *testing.T) {
	c := Choices("").With("model", "opus").With("mode", "plan")
	if d := Choices("").With("mode", "plan").With("model", "opus"); c != d {
		t.Errorf("%q and %q have the same values", c, d)
	}
	if got := c.Get("mode"); got != "plan" {
		t.Errorf("mode: got %q", got)
	}
	if got := c.With("mode", "").With("model", ""); got != "" {
		t.Errorf("without values: %q", got)
	}
	over := Of(map[string]string{"mode": "ask"}).Over(c)
	if want := map[string]string{"mode": "ask", "model": "opus"}; !maps.Equal(over.All(), want) {
		t.Errorf("over: got %v, want %v", over.All(), want)
	}
	if got := Choices("{damaged").All(); len(got) != 0 {
		t.Errorf("a damaged text has values: %v", got)
	}
}

func TestLeft(t *testing.T) {
	plan, opus := Choices("").With("mode", "plan"), Choices("").With("model", "opus")
	left := Left{"claude": opus}
	for _, c := range []struct {
		name, before, agent string
		was, now, want      Choices
	}{
		{"another option of the same agent", "claude", "claude", opus, plan, plan},
		{"another agent", "claude", "codex", opus, opus, ""},
		{"an agent that was left", "codex", "claude", plan, plan, opus},
		{"an agent that was left, with a choice", "codex", "claude", plan, plan.With("x", "y"), plan.With("x", "y")},
		{"the default agent by its name", "", "claude", plan, plan, plan},
		{"from the default agent", "", "claude", "", "", opus},
	} {
		if got := left.Of(c.before, c.agent, c.was, c.now); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
