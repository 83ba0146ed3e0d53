package acp

import (
	"testing"

	"dragoman/core"
)

// A client that knows compactions sees that a summary is being made, and then that it was, or was
// not.
func TestCompactionsAreShownFromTheirBeginning(t *testing.T) {
	begun := core.Phase{Turn: "t1", Kind: core.PhaseCompacting}
	for name, test := range map[string]struct {
		end  core.Event
		want string
	}{
		"done":    {core.Compacted{Summary: "all of it"}, "completed"},
		"failed":  {core.Phase{Turn: "t1", Kind: core.PhaseWaiting}, "failed"},
		"stopped": {core.TurnEnded{Turn: "t1", Stop: core.StopCanceled}, "failed"},
	} {
		v := testView()
		v.Display.Compaction = true
		updates := sent(t, v, begun, core.Phase{Turn: "t1", Kind: core.PhaseRetrying}, begun, test.end)
		var states []any
		for _, u := range updates {
			if u["sessionUpdate"] == "compaction_update" {
				states = append(states, u["status"])
				if u["compactionId"] != updates[0]["compactionId"] {
					t.Errorf("%s: %v is another compaction", name, u)
				}
			}
		}
		if len(states) != 2 || states[0] != "in_progress" || states[1] != test.want {
			t.Errorf("%s: %v", name, states)
		}
	}
}
