package sides

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestSides(t *testing.T) {
	side := func(agent string, heard int) Side[int] {
		return Side[int]{agent, json.RawMessage(`"` + agent + `"`), heard}
	}
	var none Set[int]
	set := none.With(side("claude", 0))
	if got := set.Left("claude", 5); got != nil {
		t.Errorf("the agent that answers has left: %v", got)
	}
	left := set.Left("codex", 5)
	if len(left) != 1 || !reflect.DeepEqual(left[0], side("claude", 5)) {
		t.Fatalf("left: %v", left)
	}
	now := set.With(left[0]).With(side("codex", 0))
	if got := now.Present(); got.Agent != "codex" {
		t.Errorf("%v takes part", got)
	}
	if got := now.Of("claude"); got.Heard != 5 {
		t.Errorf("claude: %v", got)
	}
	if got := now.Left("code", 9); len(got) != 1 || got[0].Agent != "codex" {
		t.Errorf("left again: %v", got)
	}
	if got := set.Present(); got.Agent != "claude" {
		t.Errorf("the first set was changed: %v", got)
	}
	if got := now.With(Side[int]{Agent: "code"}); got != nil {
		t.Errorf("a record of an earlier version: %v", got)
	}
	for _, c := range []struct {
		hidden int
		agent  string
		want   int
	}{{6, "codex", 2}, {5, "codex", 1}, {6, "code", 1}, {5, "code", 0}} {
		if got := now.Truncated(func(p int) bool { return p >= c.hidden }, c.agent); len(got) != c.want {
			t.Errorf("from %d on hidden, %s answers: %v", c.hidden, c.agent, got)
		}
	}
	if none.Present().Agent != "" || none.Of("x").Agent != "" {
		t.Error("an empty set has a side")
	}
}
