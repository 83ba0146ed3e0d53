package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/core"
)

// What an agent sends reaches a client as a valid line that it can take, or not at all.
func TestForeign(t *testing.T) {
	large := `{"sessionUpdate":"_x","text":"` + strings.Repeat("x", 1<<20-8<<10) + `"}`
	terminals := `{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[{"type":"terminal","terminalId":"me:7"}, {"type":"terminal","terminalId":"7"}],"n":1.50}`
	for _, c := range []struct {
		name, raw, protocol, want string
		replay                    bool
	}{
		{"an object in several lines", "{\n \"sessionUpdate\": \"_x\"\n}\r\n", "acp", `"update":{  "sessionUpdate": "_x" }  }}`, false},
		{"no JSON", `{"sessionUpdate":"_x"`, "acp", `[its text]`, false},
		{"two objects", `{"sessionUpdate":"_x"}}},{"a":{"b":{}`, "acp", `[its text]`, false},
		{"a list", `[{"sessionUpdate":"_x"}]`, "acp", `[its text]`, false},
		{"no text that is UTF-8", "{\"sessionUpdate\":\"_x\",\"a\":\"\xff\"}", "acp", "{\"sessionUpdate\":\"_x\",\"a\":\"\ufffd\"}", false},
		{"another protocol", `{"sessionUpdate":"_x"}`, "eca", `[its text]`, false},
		{"nearly too large", large, "acp", `xxx"}}}`, false},
		{"too large", strings.Replace(large, "xx", strings.Repeat("y", 8<<10), 1), "acp", `too large to be shown: _x`, false},
		{"the client's terminal", terminals, "acp", `"content":[{"type":"terminal","terminalId":"7"}],"n":1.50}}}`, false},
		{"a terminal that is gone", terminals, "acp", `"content":[],"n":1.50}}}`, true},
		{"a notice of the past", `{"sessionUpdate":"notice","severity":"info","title":"x"}`, "acp", "", true},
	} {
		v := NewView("s", "", core.Pos{})
		v.Display = Shows{Terminals: "me:", Notices: true}
		r := core.Record{Epoch: 1, Seq: 1, Event: core.Foreign{Protocol: c.protocol, Raw: json.RawMessage(c.raw), Text: "its text"}}
		if c.replay {
			v.Head = core.Pos{Epoch: 1, Seq: 9}
		}
		got := string(Encode(nil, v, r))
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: got %.300s, want %s", c.name, got, c.want)
		}
		if got != "" && (!json.Valid([]byte(got)) || strings.Count(got, "\n") != 1 || len(got) > 1<<20) {
			t.Errorf("%s: not a valid line below 1 MiB", c.name)
		}
	}
}

// Values of an agent's option that cannot be shown in the protocol's form do not harm the others.
func TestGroups(t *testing.T) {
	o := NewOffer(&core.Profile{Agents: []core.Agent{{Name: "claude", External: true}}}, false)
	now := Chosen{Offered: core.Offered{Agent: "claude", Choices: []core.Choice{
		{ID: "model", Value: "a", Values: []core.ChoiceValue{{ID: "a", Name: "A"}, {ID: ""}, {ID: "b", Name: "B", Group: "Large"}, {ID: "c", Name: "C"}}},
		{ID: "trust", Boolean: true, Value: "true"},
		{ID: "dragoman_trust", Value: "x", Values: []core.ChoiceValue{{ID: "x", Name: "X"}}},
	}}}
	got, err := json.Marshal(o.options(now))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"options":[{"group":"other","name":"Other","options":[{"value":"a","name":"A"},{"value":"c","name":"C"}]},{"group":"Large","name":"Large","options":[{"value":"b","name":"B"}]}]`,
		`{"id":"trust","name":"","type":"select","currentValue":"on"`,
		`{"id":"dragoman_dragoman_trust","name":"Trust"`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	for id, want := range map[string]selection{
		"trust":                   {own: "trust", value: "false"},
		"model":                   {},
		"dragoman_dragoman_trust": {set: core.Settings{}},
	} {
		if sel, err := o.selection(now, id, []byte(`"off"`)); sel != want || (err != nil) != (id == "model") {
			t.Errorf("%s: got %+v, %v", id, sel, err)
		}
	}
}
