package acp

import (
	"encoding/json"
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

// The pieces of a summary that an external agent makes belong to the compaction that the client knows,
// also in a replay, which has no phases. A summary that came so is not sent again.
func TestSummariesInPiecesBelongToTheirCompaction(t *testing.T) {
	piece := core.Foreign{Protocol: "acp", Raw: json.RawMessage(`{"sessionUpdate":"compaction_summary_chunk","compactionId":"theirs","content":{"type":"text","text":"all"}}`)}
	begun, over := core.Phase{Turn: "t1", Kind: core.PhaseCompacting}, core.Phase{Turn: "t1", Kind: core.PhaseWaiting}
	for name, test := range map[string]struct {
		events []core.Event
		want   string
	}{
		"live":         {[]core.Event{begun, piece, piece, core.Compacted{Summary: "allall"}, over}, "in_progress piece piece completed "},
		"a late phase": {[]core.Event{piece, begun, core.Compacted{Summary: "all"}, over}, "in_progress piece completed "},
		"a replay":     {[]core.Event{piece, core.Compacted{Summary: "all"}, core.TurnEnded{Turn: "t1", Stop: core.StopEnd}}, "in_progress piece completed "},
		"whole":        {[]core.Event{begun, core.Compacted{Summary: "all"}, over}, "in_progress completed+ "},
		"none":         {[]core.Event{core.Compacted{}}, "completed "},
		"two":          {[]core.Event{piece, core.Compacted{Summary: "all"}, begun, core.Compacted{Summary: "more"}}, "in_progress piece completed in_progress completed+ "},
	} {
		v := testView()
		v.Display.Compaction = true
		got := ""
		ids := map[any]bool{}
		for _, u := range sent(t, v, test.events...) {
			switch u["sessionUpdate"] {
			case "compaction_update":
				got += u["status"].(string)
				if u["summary"] != nil {
					got += "+"
				}
			case "compaction_summary_chunk":
				got += "piece"
			default:
				continue
			}
			got += " "
			ids[u["compactionId"]] = true
		}
		if got != test.want || ids["theirs"] || len(ids) != 1 && name != "two" {
			t.Errorf("%s: %q under the ids %v, want %q", name, got, ids, test.want)
		}
		v = testView() // it does not know compactions
		for _, u := range sent(t, v, test.events...) {
			if k := u["sessionUpdate"]; k == "compaction_update" || k == "compaction_summary_chunk" {
				t.Errorf("%s: a client that does not know it gets %v", name, u)
			}
		}
	}
}
