package eca

import (
	"reflect"
	"testing"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
)

// The early documents know native commands and MCP prompts only; arguments are
// always a list.
func TestCommandsOf(t *testing.T) {
	list := []core.Command{
		{Kind: core.CommandBuiltin, Name: "costs", Description: "Tells the costs"},
		{Kind: core.CommandCustom, Name: "Review", Description: "Reviews", Arguments: []core.Argument{{Name: "what", Required: true}}},
		{Kind: core.CommandSkill, Name: "tea", Description: "Makes tea"},
	}
	for _, test := range []struct {
		dialect Dialect
		query   string
		want    []string // name and type
	}{
		{Now, "", []string{"costs native", "Review customPrompt", "tea skill"}},
		{Now, "rev", []string{"Review customPrompt"}},
		{Doc000, "", []string{"costs native", "Review native", "tea native"}},
		{Doc001, "t", []string{"costs native", "tea native"}},
		{Now, "nothing", nil},
	} {
		var got []string
		for _, c := range commandsOf(list, test.query, test.dialect) {
			got = append(got, c.Name+" "+c.Type)
			if c.Arguments == nil {
				t.Errorf("%s: arguments are null", c.Name)
			}
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v %q: got %q, want %q", test.dialect, test.query, got, test.want)
		}
	}
	if got := commandsOf(list, "review", Now)[0].Arguments; !reflect.DeepEqual(got, []eca.Argument{{Name: "what", Required: true}}) {
		t.Errorf("arguments %+v", got)
	}
	if commandsOf(nil, "", Now) == nil {
		t.Error("no commands are null")
	}
}
