package codec

import (
	"encoding/json"
	"reflect"
	"testing"

	"dragoman/core"
)

// plainForms are events as they are stored, and forms that are left to encoding/json.
var plainForms = []string{
	`{"turn":"t1-2","stop":"end_turn"}`,
	`{"turn":"t1-2","stop":"error","err":"a \"b\" \ud83d\ude00 ü"}`,
	`{"turn":"t1-2","stop":"end_turn","login":"codex"}`,
	`{"turn":"t1-2","last":{"in":10,"out":10},"total":{"in":25000,"out":25000},"model":"mock/any","context":20,"shares":[{"part":"messages","tokens":20},{"part":"tools","tokens":1}],"compact_at":75}`,
	`{"turn":"t1-2","last":{"in":1,"out":2,"cache_read":3,"cache_write":4,"reasoning":5,"cost":0.25,"estimated":true},"total":{"in":0,"out":0},"context":0,"window":200000}`,
	`{"turn":"t1-2","message":"m1-3","key":"K-1","origin":{"client":"an ACP client","principal":"local","caller":"web","hops":2,"approvals":"ask"},"passing":1}`,
	`{"turn":"t1-2","message":"m1-3","origin":{},"prompt":[{"type":"text","text":"a\nb"},{"type":"link","uri":"x"}],"standing":[]}`,
	`{}`, `{ "turn" : "t" }`, `{"turn":null}`, `{"TURN":"t"}`, `{"turn":"a","turn":"b"}`, `{"turn":7}`, `{"turn":"\u0041"}`, "{\"turn\":\"\xff\"}",
	`{"last":{"in":-1}}`, `{"last":{"in":1.5}}`, `{"last":{"in":01}}`, `{"last":{"in":9007199254740993}}`, `{"last":{"in":99999999999999999999}}`,
	`{"last":{"in":1},"last":{"out":2}}`, `{"last":{"cost":null}}`, `{"last":{"cost":1e999}}`, `{"last":{"cost":"1"}}`, `{"last":{"estimated":false}}`, `{"last":{"estimated":truer}}`,
	`{"shares":[]}`, `{"shares":null}`, `{"shares":[{"part":"a"}],"shares":[{"tokens":1}]}`, `{"shares":[{"part":"a"},]}`, `{"shares":[{"part":"a"}`, `{"shares":[null]}`,
	`{"origin":null}`, `{"origin":[]}`, `{"origin":{"client":"a","more":1}}`, `{"prompt":null}`, `{"prompt":[{"type":"text","text":1}]}`, `{"prompt":[{"type":"text"}]}`, `{"prompt":[{"type":"new","text":[1]}]}`, `{"standing":[1]}`,
	`{"turn":"t"} `, `{"turn":"t"}x`, `{"turn":"t",}`, `{,}`, `{"turn"}`, `[]`, ``, `{`, `null`,
}

// FuzzPlain compares what is decoded without reflection with encoding/json.
func FuzzPlain(f *testing.F) {
	for _, v := range plainForms {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		var d Decoder
		if ev, ok := d.turnEnded(v); ok {
			equalPlain(t, v, ev, plainEvent[core.TurnEnded](v))
		}
		if ev, ok := d.usageChanged(v); ok {
			equalPlain(t, v, ev, plainEvent[core.UsageChanged](v))
		}
		if ev, ok := d.turnStarted(v); ok {
			want, prompt, fine := decodePrompt[core.TurnStarted](v)
			standing, also := standingOf(v)
			want.Prompt, want.Standing = prompt, standing
			equalPlain(t, v, ev, orNil(want, fine && also))
		}
	})
}

func equalPlain(t *testing.T, v []byte, got, want core.Event) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q:\n got %#v\nwant %#v", v, got, want)
	}
}

// FuzzLine compares both ways to find the parts of a line.
func FuzzLine(f *testing.F) {
	for _, v := range []string{
		`"text","v":{"id":"m1","text":"a b"}`, `"thought","v":{"id":"m1","text":"ü\n\u00e9"}`, `"text","v":{"text":"a","id":"m1"}`, `"call_args","v":{"id":"m1"}`,
		`"text","v":{"id":"m1","text":"a","more":1}`, `"text","v":{"id":1,"text":"a"}`, `"text","v":{"id":"m1","text":"a"},"v":{}`, `"text","v":[]`, `"text","v~":"{}"`,
		`"text","v":{"id":"","text":""}`, `"text","v":{"id":"a","text":null}`, `"text","v": { "id" : "a" , "text" : "b" } `, "\"text\",\"v\":{\"id\":\"\xff\",\"text\":\"\x01\"}",
		`"usage","v":{"turn":"t","last":{"in":1}}`, `"usage","v":{"turn":"t"},"x":1`, `"usage","x":[{}],"v":null`, `"\u0074ext","v":{"id":"a","text":"b"}`, `7,"v":{}`, `"text","v":{"id":"0","text":"`, `"missing","v":{"records":3}`,
	} {
		f.Add([]byte(`{"e":1,"s":20,"o":3,"t":"2026-01-02T03:04:05.678Z","k":` + v + `}`))
	}
	f.Add([]byte(`{"v":{"id":"a","text":"b"},"k":"text"}`))
	f.Add([]byte(`{"e":01,"s":1,"k":"title","v":{}}`))
	f.Add([]byte(`{"e":-1,"s":1,"k":"title","v":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		own, ok := ownLine(line)
		if !ok {
			return
		}
		slow, err := anyLine(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got, gotErr := new(Decoder).DecodeLine(own)
		want, wantErr := new(Decoder).DecodeLine(slow)
		if !reflect.DeepEqual(got, want) || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%q:\n got %#v, %v\nwant %#v, %v", line, got, gotErr, want, wantErr)
		}
		if own.End() != slow.End() || string(own.AppendStream(nil)) != string(slow.AppendStream(nil)) || own.Kind() != slow.Kind() {
			t.Errorf("%q ends at %v in stream %q, want %v and %q", line, own.End(), own.AppendStream(nil), slow.End(), slow.AppendStream(nil))
		}
	})
}

// TestPlainForms checks that what this version writes needs no reflection.
func TestPlainForms(t *testing.T) {
	cost := 0.5
	use := core.Usage{In: 1, Out: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5, Cost: &cost, Estimated: true}
	for _, ev := range []core.Event{
		core.TurnEnded{Turn: "t1-2", Stop: core.StopError, Err: "a\nb"},
		core.UsageChanged{Turn: "t1-2", Last: use, Total: use, Model: "a/b", Context: 1, Window: 2, Shares: []core.Share{{Part: "a", Tokens: 1}}, CompactAt: 3},
		core.TurnStarted{
			Turn: "t1-2", Message: "m1-3", Key: "K-1", Origin: core.Origin{Client: "c", Principal: core.Local, Caller: "x", Hops: 1, Approvals: "y"},
			Prompt: []core.Block{core.Text{Text: "ü"}}, Passing: 1, Standing: []core.Block{},
		},
	} {
		line := new(Encoder).Append(nil, core.Record{Seq: 1, Event: ev})
		l, ok := ownLine(line)
		if !ok {
			t.Fatalf("the line of a %T is left to anyLine", ev)
		}
		var d Decoder
		var got core.Event
		switch ev.(type) {
		case core.TurnEnded:
			got, ok = d.turnEnded(l.body)
		case core.UsageChanged:
			got, ok = d.usageChanged(l.body)
		case core.TurnStarted:
			got, ok = d.turnStarted(l.body)
		}
		if !ok {
			t.Errorf("%T is left to encoding/json: %s", ev, l.body)
		}
		equalPlain(t, l.body, got, ev)
		if !json.Valid(line) {
			t.Errorf("%s is not valid", line)
		}
	}
}
