package e2e

import (
	"slices"
	"strings"
	"testing"
)

// The checker finds each fault in histories made by hand, and nothing in a correct one.
func TestCheckerFindsFaults(t *testing.T) {
	said := func(text string) element { return element{kind: elemSaid, text: text} }
	text := func(text string) element { return element{kind: elemText, text: text} }
	thought := func(text string) element { return element{kind: elemThought, text: text} }
	fact := func(text string) element { return element{kind: elemFact, text: text} }
	state := func(id, state string) element { return element{kind: elemState, id: id, text: state} }
	sight := func(kind actKind, elements ...element) act {
		return act{kind: kind, client: "c", session: "s", sight: elements}
	}
	prompt := func(kind actKind, text string) act { return act{kind: kind, client: "c", session: "s", prompt: text} }
	tests := []struct {
		name string
		acts []act
		want string // of a fault; empty: none
	}{
		{"nothing", nil, ""},
		{"all is well", []act{
			prompt(prompted, "p1"), sight(saw, text("ab"), state("k", "pending"), fact("f"), state("k", "in_progress"), text("c")),
			prompt(prompted, "p2"), prompt(taken, "p1"), prompt(refused, "p2"),
			sight(loaded, said("p1"), text("ab"), state("k", "pending"), fact("f"), state("k", "in_progress"), text("cd"), state("k", "completed"), fact("g")),
			sight(saw, text("ab")),
			sight(loaded, said("p1"), text("ab"), fact("f"), text("cd"), fact("g"), text("h")),
		}, ""},
		{"the last text was cut by a death", []act{sight(saw, fact("f"), text("abc")), sight(loaded, fact("f"), text("a"), fact("interrupted"))}, ""},
		{"the last text was lost by a death", []act{sight(saw, fact("f"), text("abc")), sight(loaded, fact("f"), fact("interrupted"))}, ""},
		{"what could not be stored is lost", []act{sight(saw, fact("f")), prompt(unstored, "p1"), sight(saw, fact("f"), fact("g")), sight(loaded, fact("f"), fact("h"))}, ""},
		{"what was stored before is lost", []act{sight(saw, fact("f")), prompt(unstored, "p1"), sight(saw, fact("f"), fact("g")), sight(loaded, fact("h"))}, "element 0"},
		{"a prompt between two thoughts is not shown to who sent it", []act{
			prompt(prompted, "p1"), prompt(prompted, "p2"), sight(saw, thought("ab"), fact("f")),
			sight(loaded, said("p1"), thought("a"), said("p2"), thought("b"), fact("f")),
		}, ""},
		{"nobody knows whether it was taken", []act{prompt(prompted, "p1"), sight(loaded)}, ""},

		{"a state goes back", []act{sight(saw, state("k", "in_progress"), state("k", "pending"))}, `goes from "in_progress" back to "pending"`},
		{"a state after the last", []act{sight(saw, state("k", "completed"), state("k", "failed"))}, `goes from "completed" back to "failed"`},
		{"a state twice", []act{sight(saw, state("k", "toolCalled"), state("k", "toolCalled"))}, "twice"},
		{"a state that is none", []act{sight(saw, state("k", "asleep"))}, "which is none"},
		{"a call that never ends", []act{sight(loaded, state("k", "running"))}, "still \"running\""},
		{"an answered prompt is lost", []act{prompt(prompted, "p1"), prompt(taken, "p1"), sight(loaded)}, "was answered and is not there"},
		{"a prompt is lost after a reload", []act{prompt(prompted, "p1"), prompt(taken, "p1"), sight(loaded, said("p1")), sight(loaded)}, "was answered and is not there"},
		{"a prompt runs twice", []act{prompt(prompted, "p1"), sight(loaded, said("p1"), said("p1"))}, "2 times"},
		{"a refused prompt runs", []act{prompt(prompted, "p1"), prompt(refused, "p1"), sight(loaded, said("p1"))}, "was refused and is there"},
		{"prompts change places", []act{prompt(prompted, "p1"), prompt(prompted, "p2"), sight(loaded, said("p2"), said("p1"))}, "in front of"},
		{"another session's prompt", []act{prompt(prompted, "p1"), sight(loaded, said("p9"))}, "was never prompted"},
		{"an answer to nothing", []act{prompt(taken, "p1")}, "was never sent"},
		{"an event is lost", []act{sight(saw, text("a"), fact("f"), fact("g")), sight(loaded, text("a"), fact("g"))}, "element 1"},
		{"the last event is lost", []act{sight(saw, fact("f"), fact("g")), sight(loaded, fact("f"))}, "1 of 2 elements are missing"},
		{"an event is there twice", []act{sight(saw, fact("f"), fact("g")), sight(loaded, fact("f"), fact("f"), fact("g"))}, "element 1"},
		{"events change places", []act{sight(saw, fact("f"), fact("g")), sight(loaded, fact("g"), fact("f"))}, "element 0"},
		{"a text changes", []act{sight(saw, text("abc"), fact("f")), sight(loaded, text("abd"), fact("f"))}, "element 0"},
		{"text in front of an event is lost", []act{sight(saw, text("abc"), fact("f")), sight(loaded, text("ab"), fact("f"))}, "element 0"},
		{"the reload changes", []act{sight(loaded, fact("f"), fact("g")), sight(loaded, fact("f"), fact("h"))}, "element 1"},
		{"two processes saw different things", []act{sight(saw, fact("f"), fact("g")), sight(saw, fact("f"), fact("h"))}, "element 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := history{acts: tt.acts}
			got := h.check()
			if tt.want == "" && len(got) > 0 {
				t.Errorf("found %q", got)
			}
			if tt.want != "" && !slices.ContainsFunc(got, func(f string) bool { return strings.Contains(f, tt.want) }) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}
