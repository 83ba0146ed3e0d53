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
