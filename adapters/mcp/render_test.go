package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/core"
)

// The messages to a client for a turn with an approval.
func TestRender(t *testing.T) {
	c := core.Call{ID: "c1", Turn: "t1", Server: core.Native, Tool: "write_file", Title: "Write a.txt", State: core.Proposed}
	state := func(s core.CallState, args string) core.CallChanged {
		c.State, c.Args = s, json.RawMessage(args)
		return core.CallChanged{Call: c}
	}
	got := Render(records(
		core.Opened{Meta: core.Meta{ID: "s1", Cwd: "/w"}},
		core.TurnStarted{Turn: "t1", Prompt: []core.Block{core.Text{Text: "write it"}}},
		core.Phase{Turn: "t1", Kind: core.PhaseWaiting},
		state(core.Proposed, ``), state(core.Awaiting, `{"path":"a.txt"}`),
		core.Asked{Ask: core.Ask{ID: "q1", Kind: core.AskApproval, Turn: "t1", Call: "c1", Text: "it writes"}},
		core.Answered{Ask: "q1", Reply: core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowOnce}},
		state(core.Running, ``), state(core.Succeeded, ``),
		core.TextDelta{Message: "m1", Text: "Written."},
		core.UsageChanged{Turn: "t1", Last: core.Usage{In: 3, Out: 2}},
		core.TurnEnded{Turn: "t1", Stop: core.StopEnd},
		core.TextDelta{Message: "m2", Text: "another turn's"},
	))
	want := []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","message":"waiting for the model","progress":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","message":"tool write_file: being prepared","progress":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","message":"tool write_file: waiting for approval","progress":3}}`,
		`{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"mode":"form","message":"Allow the agent to use write_file?\nWrite a.txt\nArguments: {\"path\":\"a.txt\"}\nDirectory: /w\nWhy it asks: it writes","requestedSchema":{"type":"object","properties":{"decision":{"type":"string","title":"Decision","oneOf":[{"const":"allow_once","title":"Allow once"}],"default":"allow_once"},"note":{"type":"string","title":"Note","description":"A word to the agent; may be left out."}}}}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","message":"tool write_file: running","progress":4}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","message":"tool write_file: done","progress":5}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","message":"answering: 8 characters so far","progress":6}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Written."},{"type":"resource_link","mimeType":"text/markdown","uri":"dragoman://session/s1/transcript","name":"transcript"}],"structuredContent":{"session_id":"s1","turn_id":"t1","status":"completed","text":"Written.","stop_reason":"end_turn","tool_calls":[{"id":"c1","name":"write_file","status":"completed","summary":"Write a.txt"}],"usage":{"input_tokens":3,"output_tokens":2}}}}`,
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	for _, m := range got {
		if !json.Valid([]byte(m)) {
			t.Errorf("not JSON: %s", m)
		}
	}
}
