package content

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"dragoman/core"
)

// A person who is asked sees what a call would do, whatever its title claims: hidden characters are
// named, and nothing can leave the block that it stands in.
func TestApproval(t *testing.T) {
	for name, c := range map[string]struct {
		call core.Call
		why  string
		want string
	}{
		"nothing is known": {want: "The agent wants to act."},
		"arguments": {
			core.Call{Title: "Look around", Tool: "Bash", Args: json.RawMessage("{\"command\":\"rm \u202e```\"}"), Locations: []core.Location{{Path: "/w/a\u200b"}}},
			"the agent\u200b asks",
			"Look around\n```\n{\"command\":\"rm ⟨U+202E⟩'''\"}\n```\nIt concerns /w/a⟨U+200B⟩.\nAsked because: the agent⟨U+200B⟩ asks",
		},
		"a command line": {
			core.Call{Server: core.Native, Tool: "shell_command", Args: json.RawMessage(`{"command":"make\nmake install"}`)},
			"", "shell_command\n```\nmake\nmake install\n```",
		},
		"a change": {
			core.Call{Title: "Edit", Content: []core.Block{core.Diff{Path: "/w/a", Patch: "@@ -1 +1 @@\n-a\n+b\n"}}, Args: json.RawMessage(`{"x":1}`), Locations: []core.Location{{Path: "/w/a"}}},
			"", "Edit\n/w/a\n```\n@@ -1 +1 @@\n-a\n+b\n\n```",
		},
	} {
		if got := Approval(core.Ask{Text: c.why}, c.call); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	long := Approval(core.Ask{}, core.Call{Title: "Long", Args: json.RawMessage(`"` + strings.Repeat("x", 9000) + `; rm -r /"`)})
	if len(long) > maxShown+200 || !strings.Contains(long, "bytes are left out here") || !strings.Contains(long, `; rm -r /"`) {
		t.Errorf("a long call: %d bytes, ends with %q", len(long), long[len(long)-20:])
	}
}

func TestAnswers(t *testing.T) {
	got := Answers(core.Ask{Options: []core.Option{{ID: "a", Label: "Yes"}, {ID: "b", Label: " Yes\n"}, {ID: "c", Label: "Yes (2)"}, {ID: "d"}, {}}})
	if want := []string{"Yes", "Yes (2)", "Yes (2) (2)", "d", "(no name)"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
