package coretest_test

import (
	"fmt"
	"reflect"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// A random conversation is possible: its calls live as calls do, one turn runs at a time, and every call
// has ended before its turn. A seed has one log.
func TestConversationsArePossible(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		events := coretest.Conversation(seed, 3)
		if !reflect.DeepEqual(events, coretest.Conversation(seed, 3)) {
			t.Fatalf("seed %d has two logs", seed)
		}
		var turn core.TurnID
		open, states := map[core.CallID]bool{}, map[core.CallID]core.CallState{}
		asked := map[core.AskID]bool{}
		for i, ev := range events {
			seen[fmt.Sprintf("%T", ev)] = true
			switch e := ev.(type) {
			case core.TurnStarted:
				if turn != "" {
					t.Errorf("seed %d, event %d: a turn begins within another one", seed, i)
				}
				turn = e.Turn
			case core.TurnEnded:
				if e.Turn != turn || len(open)+len(asked) > 0 {
					t.Errorf("seed %d, event %d: a turn ends with open calls %v and questions %v", seed, i, open, asked)
				}
				turn = ""
				seen[string(e.Stop)] = true
			case core.CallChanged:
				if !states[e.Call.ID].To(e.Call.State) || e.Call.Turn != turn {
					t.Errorf("seed %d, event %d: a call goes from %q to %q", seed, i, states[e.Call.ID], e.Call.State)
				}
				states[e.Call.ID], open[e.Call.ID] = e.Call.State, true
				if e.Call.State.Ended() {
					delete(open, e.Call.ID)
				}
				seen[string(e.Call.State)] = true
			case core.CallOutput:
				if states[e.Call] != core.Running {
					t.Errorf("seed %d, event %d: output of a call that does not run", seed, i)
				}
			case core.Asked:
				asked[e.Ask.ID] = true
			case core.Answered:
				delete(asked, e.Ask)
			}
		}
		if turn != "" {
			t.Errorf("seed %d: the last turn does not end", seed)
		}
	}
	for _, want := range []string{"rejected", "canceled", "errored", "succeeded", "cancelled", "error", "core.Cited", "core.Steered", "core.UsageChanged", "core.Compacted"} {
		if !seen[want] {
			t.Errorf("no conversation has %s", want)
		}
	}
}
