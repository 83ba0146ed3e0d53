package agent

import (
	"slices"
	"testing"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// An option that changes the agent's mode or its rules for later sessions is told from a plain one, in the
// lists that agents send.
func TestOptionsThatChangeMore(t *testing.T) {
	once := func(id, label string) core.Option {
		return core.Option{ID: id, Label: label, Decision: core.AllowOnce}
	}
	always := func(id, label string) core.Option {
		return core.Option{ID: id, Label: label, Decision: core.AllowSession}
	}
	no := core.Option{ID: "no", Label: "No, and never ask again", Decision: core.RejectAlways}
	c := &conversation{offered: core.Offered{Choices: []core.Choice{
		{ID: "mode", Category: acp.CategoryMode, Values: []core.ChoiceValue{{ID: "default"}, {ID: "acceptEdits"}, {ID: "bypassPermissions"}}},
		{ID: "model", Category: acp.CategoryModel, Values: []core.ChoiceValue{{ID: "allow"}}},
	}}}
	for name, test := range map[string]struct {
		kind    core.CallKind
		options []core.Option
		changes []string
	}{
		"Claude": {core.KindExecute, []core.Option{always("allow_always", "Always Allow"), once("allow", "Allow"), no}, nil},
		"Claude, a rule": {
			core.KindExecute, []core.Option{always("allow_always", "Always Allow Bash(git *)"), once("allow", "Allow"), no}, []string{"allow_always"},
		},
		"Claude, the end of a plan": {
			core.CallKind(acp.KindSwitchMode),
			[]core.Option{
				always("bypassPermissions", "Yes, and bypass permissions"), always("acceptEdits", "Yes, and auto-accept edits"),
				once("default", "Yes, and manually approve edits"), no,
			},
			[]string{"bypassPermissions", "acceptEdits"},
		},
		"a yes that changes the mode beside": {core.KindEdit, []core.Option{once("acceptEdits", "Yes"), once("ok", "Yes"), no}, []string{"acceptEdits"}},
		"Codex": {
			core.KindExecute,
			[]core.Option{
				once("allow_once", "Allow Once"), always("allow_always", "Allow for Session"),
				always("accept_execpolicy_amendment", "Allow Commands Starting With `git`"), no,
			},
			[]string{"accept_execpolicy_amendment"},
		},
		"Codex, a tool": {
			core.KindOther, []core.Option{always("s", "Allow for This Session"), always("a", "Allow and Don't Ask Again"), no}, []string{"a"},
		},
		"Gemini": {
			core.KindExecute,
			[]core.Option{always("proceed_always", "Allow for this session"), always("proceed_always_and_save", "Allow for all future sessions"), once("proceed_once", "Allow"), no},
			[]string{"proceed_always_and_save"},
		},
		"two that last": {core.KindOther, []core.Option{always("a", "Always allow"), always("s", "Allow for this session")}, []string{"a"}},
		"opencode":      {core.KindOther, []core.Option{once("once", "Allow once"), always("always", "Always allow"), no}, nil},
	} {
		c.mark(test.options, test.kind)
		var got []string
		for _, o := range test.options {
			if o.Changes {
				got = append(got, o.ID)
			}
		}
		if !slices.Equal(got, test.changes) {
			t.Errorf("%s: %q change more, want %q", name, got, test.changes)
		}
	}
}
