package eca

import (
	"reflect"
	"testing"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
)

// Arguments of a command are always a list.
func TestCommandsOf(t *testing.T) {
	list := []core.Command{
		{Kind: core.CommandBuiltin, Name: "costs", Description: "Tells the costs"},
		{Kind: core.CommandCustom, Name: "Review", Description: "Reviews", Arguments: []core.Argument{{Name: "what", Required: true}}},
		{Kind: core.CommandSkill, Name: "tea", Description: "Makes tea"},
	}
	for _, test := range []struct {
		query string
		want  []string // name and type
	}{
		{"", []string{"costs native", "Review customPrompt", "tea skill"}},
		{"rev", []string{"Review customPrompt"}},
		{"t", []string{"costs native", "tea skill"}},
		{"nothing", nil},
	} {
		var got []string
		for _, c := range commandsOf(list, test.query, "") {
			got = append(got, c.Name+" "+c.Type)
			if c.Arguments == nil {
				t.Errorf("%s: arguments are null", c.Name)
			}
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.query, got, test.want)
		}
	}
	if got := commandsOf(list, "review", "")[0].Arguments; !reflect.DeepEqual(got, []eca.Argument{{Name: "what", Required: true}}) {
		t.Errorf("arguments %+v", got)
	}
	if commandsOf(nil, "", "") == nil {
		t.Error("no commands are null")
	}
}
