package acp

import (
	"encoding/json"
	"fmt"
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

// A call of an external agent's own has its _meta, live and in a replay, with ours beside it. That of
// other calls is of another protocol.
func TestMetaOfCalls(t *testing.T) {
	const meta = `{"claudeCode":{"toolName":"Bash"},"n":1.50}`
	call := func(server string, state core.CallState, meta string) core.Event {
		return core.CallChanged{Call: core.Call{ID: "c", Server: server, Tool: "Bash", Title: "ls", Kind: core.KindExecute, State: state, Meta: json.RawMessage(meta)}}
	}
	prof := &core.Profile{Agents: []core.Agent{{Name: "claude", External: true}, {Name: "code"}}}
	for _, c := range []struct {
		name, server string
		offered      bool // the agent has offered something, or the profile has it
		terminal     bool
		replay       bool
		want         []string
	}{
		{"live", "claude", true, false, false, []string{meta, "", `{"n":2}`}},
		{"in an imported history", "claude", false, false, true, []string{meta, "", `{"n":2}`}},
		{"with a terminal of ours", "claude", true, true, false, []string{
			`{"claudeCode":{"toolName":"Bash"},"n":1.50,"terminal_info":{"terminal_id":"c","cwd":"/w"}}`, "",
			`{"n":2,"terminal_exit":{"terminal_id":"c","exit_code":null,"signal":null}}`,
		}},
		{"of a server", "files", true, false, false, []string{"", "", ""}},
		{"of one of our agents", "code", false, false, false, []string{"", "", ""}},
		{"our own", core.Native, true, false, false, []string{"", "", ""}},
	} {
		v := testView()
		v.Display.Output = c.terminal
		if c.offered {
			v.Now.Offered.Agent = "claude"
		} else {
			v.Offer = NewOffer(prof, false)
		}
		if c.replay {
			v.Head = core.Pos{Epoch: 1, Seq: 9}
		}
		for i, ev := range []core.Event{call(c.server, core.Proposed, meta), call(c.server, core.Running, meta), call(c.server, core.Succeeded, `{"n":2}`)} {
			var m struct {
				Params struct {
					Update struct {
						Meta json.RawMessage `json:"_meta"`
					} `json:"update"`
				} `json:"params"`
			}
			line := Encode(nil, v, core.Record{Epoch: 1, Seq: uint64(i + 1), Event: ev})
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatal(err)
			}
			if got := string(m.Params.Update.Meta); got != c.want[i] {
				t.Errorf("%s: update %d has %s, want %s", c.name, i+1, got, c.want[i])
			}
		}
	}
}

// A cost in another currency stays with the usages that follow.
func TestCostInAnotherCurrency(t *testing.T) {
	v := testView()
	dollars := 3.0
	got := sent(t, v,
		core.Foreign{Protocol: "acp", Raw: json.RawMessage(`{"sessionUpdate":"usage_update","used":1,"size":9,"cost":{"amount":2,"currency":"EUR"}}`)},
		core.UsageChanged{Context: 2, Window: 9},
		core.UsageChanged{Context: 3, Window: 9, Total: core.Usage{Cost: &dollars}},
	)
	for i, want := range []string{"map[amount:2 currency:EUR]", "map[amount:2 currency:EUR]", "map[amount:3 currency:USD]"} {
		if cost := fmt.Sprint(got[i]["cost"]); cost != want {
			t.Errorf("update %d: %s, want %s", i+1, cost, want)
		}
	}
}

// Another notification than an update reaches clients that follow the session, under our id.
func TestForeignNotifications(t *testing.T) {
	for _, c := range []struct {
		name, method, raw, protocol, want string
		replay                            bool
	}{
		{"live", "_vendor/state", `{"n":1.50,"sessionId":"theirs"}`, "acp", `{"jsonrpc":"2.0","method":"_vendor/state","params":{"n":1.50,"sessionId":"s"}}` + "\n", false},
		{"of the past", "_vendor/state", `{"sessionId":"theirs"}`, "acp", "", true},
		{"another protocol", "_vendor/state", `{"sessionId":"theirs"}`, "eca", "", false},
		{"no JSON", "_vendor/state", `{"sessionId":`, "acp", "", false},
		{"a login", "auth/status_update", `{}`, "acp", "", false},
	} {
		v := NewView("s", "", core.Pos{})
		if c.replay {
			v.Head = core.Pos{Epoch: 1, Seq: 9}
		}
		r := core.Record{Epoch: 1, Seq: 1, Event: core.Foreign{Protocol: c.protocol, Method: c.method, Raw: json.RawMessage(c.raw)}}
		if got := string(Encode(nil, v, r)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
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
