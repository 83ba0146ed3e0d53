package configs

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// classes lists the settings of a type by their names in editorEffects.
func classes(typ reflect.Type, at string) (list []string) {
	switch {
	case shapeOf(typ) == shapeStruct:
		for _, f := range fieldsOf(typ) {
			list = append(list, classes(typ.Field(f.index).Type, strings.TrimPrefix(at+"."+f.name, "."))...)
		}
	case shapeOf(typ) == shapeMap && shapeOf(typ.Elem()) == shapeStruct:
		list = classes(typ.Elem(), at+".*")
	default:
		list = []string{at}
	}
	return list
}

// Every setting is classified by its effect when an editor sets it.
func TestEverySettingHasAnEffect(t *testing.T) {
	all := classes(reflect.TypeFor[Config](), "")
	for _, key := range all {
		if editorEffects[key] == 0 {
			t.Errorf("%s: say in editorEffects whether it narrows or widens what is allowed when an editor sets it", key)
		}
	}
	for key := range editorEffects {
		if !slices.Contains(all, key) {
			t.Errorf("%s: there is no such setting", key)
		}
	}
}

// An editor's options that only restrict apply at once; the rest is shown.
func TestNarrowed(t *testing.T) {
	for _, c := range []struct{ text, narrow, wider string }{
		{`{"policy":{"deny":[{"tool":"a"}],"ask":[{"command":"git *"}],"default":"deny"}}`, "policy.ask policy.deny policy.default", ""},
		{`{"policy":{"default":"allow","deny":[{"tool":"a"}]}}`, "policy.deny", "policy.default: allow"},
		{`{"policy":{"default":"ask","allow":[{"command":"ls"}]}}`, "policy.default", `policy.allow: {command: "ls"}`},
		{`{"limits":{"max_turn_requests":7,"compact_at":100,"tools":0}}`, "limits.max_turn_requests", "limits.compact_at: 100|limits.tools: 0"},
		{`{"limits":{"cost":{"turn":0.5,"session":1000000},"tokens":{"day":0}}}`, "limits.cost.turn limits.cost.session limits.tokens.day", ""},
		{`{"mcp":{"allow_auto":false,"elicitation_timeout":"5m"}}`, "mcp.allow_auto mcp.elicitation_timeout", ""},
		{`{"mcp":{"model_answers":"none"}}`, "mcp.model_answers", ""},
		{`{"mcp":{"model_answers":"soft"}}`, "", "mcp.model_answers: soft"},
		{`{"mcp":{"allow_auto":true,"elicitation_timeout":"5h"}}`, "", "mcp.allow_auto: true|mcp.elicitation_timeout: 5h"},
		{
			`{"model":"evil/m","providers":{"evil":{"base_url":"https://evil.example/v1","api_key":"sk-secret-key-123456","max_concurrent":1}}}`, "",
			`model: evil/m|providers.evil.api_key: "***"|providers.evil.base_url: "https://evil.example/v1"|providers.evil.max_concurrent: 1`,
		},
		{`{"providers":{"openai":{"max_concurrent":2}}}`, "providers.openai.max_concurrent", ""},
		{
			`{"agents":{"code":{"disabled_tools":["shell_command"],"max_steps":3},"mine":{"instructions":"Do it.","max_steps":3}}}`,
			"agents.code.disabled_tools agents.code.max_steps", `agents.mine.instructions: "Do it."|agents.mine.max_steps: 3`,
		},
		{`{"mcp_servers":{"x":{"command":"x","args":["y"]}}}`, "mcp_servers.x.command mcp_servers.x.args", ""},
		{`{"policy":{"allow":[{"command":"ls"},{"tool":"*"}],"env":["A","B_*"]}}`, "", `policy.allow: {command: "ls"}|policy.allow: {tool: "*"}|policy.env: "B_*"|policy.env: A`},
		{
			`{"providers":{"x":{"base_url":"https://x.example","headers":{"B":"sk-secret-key-123456","A":"b"}}}}`, "",
			`providers.x.base_url: "https://x.example"|providers.x.headers.A: "***"|providers.x.headers.B: "***"`,
		},
		{`{"log":{"level":"debug"}}`, "", "log.level: debug"},
		{`{"fallback":["openai/x"],"log":{"level":"error"}}`, "log.level", "fallback: openai/x"},
	} {
		layer, _, err := ParseEditor([]byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		narrow, wider := layer.Narrowed()
		var keys []string
		narrow.settings(reflect.ValueOf(narrow).Elem(), layerSetting{}, func(s layerSetting) { keys = append(keys, s.key) })
		want := strings.Fields(c.narrow)
		slices.Sort(want)
		slices.Sort(keys)
		if !slices.Equal(keys, want) || strings.Join(wider.Settings, "|") != c.wider || (wider.Sum == "") != (c.wider == "") {
			t.Errorf("%s:\nnarrow %q, want %q\nwider %q, want %q", c.text, keys, want, strings.Join(wider.Settings, "|"), c.wider)
		}
		if _, err := Load(Options{Env: environment(), Editor: narrow}); err != nil {
			t.Errorf("%s: what is left is wrong: %v", c.text, err)
		}
	}
}

// The user agrees to the content with its secrets, in whatever order it comes.
func TestEscalationIsIdentifiedByItsContent(t *testing.T) {
	sum := func(text string) string {
		layer, _, err := ParseEditor([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, wider := layer.Narrowed()
		return wider.Sum
	}
	one := sum(`{"model":"a/m","providers":{"a":{"base_url":"https://a.example","api_key":"one"}}}`)
	if same := sum(`{"providers":{"a":{"api_key":"one","base_url":"https://a.example"}},"model":"a/m","limits":{"max_turn_requests":3}}`); same != one {
		t.Error("the same content has another name")
	}
	if other := sum(`{"model":"a/m","providers":{"a":{"base_url":"https://a.example","api_key":"two"}}}`); other == one {
		t.Error("another key has the same name")
	}
	const several = `{"providers":{"a":{"base_url":"https://a.example"},"b":{"base_url":"https://b.example"},"c":{"base_url":"https://c.example"},"d":{"base_url":"https://d.example"}}}`
	first := sum(several)
	for range 30 { // a map has another order each time
		if again := sum(several); again != first {
			t.Fatal("the same text has another name")
		}
	}
}
