package codec_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/codec"
	"dragoman/core/coretest"
)

// encode encodes records as a log's lines.
func encode(t *testing.T, enc *codec.Encoder, records []core.Record) [][]byte {
	t.Helper()
	var lines [][]byte
	for _, r := range records {
		line := enc.Append(nil, r)
		if !json.Valid(line) || !utf8.Valid(line) || bytes.ContainsAny(line, "\n\r") {
			t.Fatalf("%T is not one line of valid JSON:\n%q", r.Event, line)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestCodecRoundTrip(t *testing.T) {
	records := coretest.Records(7, coretest.Samples()...)
	var enc codec.Encoder
	var dec codec.Decoder
	for i, line := range encode(t, &enc, records) {
		got, err := dec.Decode(line)
		if err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		if !reflect.DeepEqual(got, records[i]) {
			t.Errorf("decoded record differs\nline %s\n got %#v\nwant %#v", line, got, records[i])
		}
	}
}

// TestCodecContinuesALog writes each part of a log with another Encoder, which knows
// nothing of the earlier parts.
func TestCodecContinuesALog(t *testing.T) {
	records := coretest.Records(7, coretest.Samples()...)
	for cut := range records {
		var first, second codec.Encoder
		lines := append(encode(t, &first, records[:cut]), encode(t, &second, records[cut:])...)
		var dec codec.Decoder
		for i, line := range lines {
			got, err := dec.Decode(line)
			if err != nil || !reflect.DeepEqual(got, records[i]) {
				t.Fatalf("another encoder from %d on, record %d: %v\nline %s\n got %#v\nwant %#v", cut, i, err, line, got, records[i])
			}
		}
	}
}

// TestCodecCallSequences changes the large fields of interleaved calls at random, with
// skipped records and encoders that were reset in between.
func TestCodecCallSequences(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	raws := []json.RawMessage{nil, json.RawMessage(`{}`), json.RawMessage(`{"a":1}`), json.RawMessage(" {\n}"), json.RawMessage(`{"a":`), json.RawMessage(`"same"`)}
	contents := [][]core.Block{nil, {core.Text{Text: "x"}}, {core.Text{Text: "y"}}, coretest.Blocks()}
	states := []core.CallState{core.Proposed, core.Running, core.Running, core.Running, core.Succeeded}
	for range 60 {
		var enc codec.Encoder
		var dec codec.Decoder
		for seq := range uint64(40) {
			call := core.Call{
				ID: core.CallID("c" + string(rune('0'+rnd.IntN(3)))), Turn: "t1", Title: []string{"", "one", "two"}[rnd.IntN(3)],
				Args: raws[rnd.IntN(len(raws))], Output: raws[rnd.IntN(len(raws))], Content: contents[rnd.IntN(len(contents))],
				State: states[rnd.IntN(len(states))],
			}
			want := core.Record{Epoch: 1, Seq: seq + 1, Event: core.CallChanged{Call: call}}
			switch rnd.IntN(12) {
			case 0:
				want.Event = core.TurnEnded{Turn: "t1", Stop: core.StopEnd}
			case 1:
				enc.Append(nil, want) // a failed write
				enc.Reset()
			}
			line := enc.Append(nil, want)
			if rnd.IntN(4) == 0 {
				if err := dec.Skip(line); err != nil {
					t.Fatal(err)
				}
				continue
			}
			got, err := dec.Decode(line)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%v\nline %s\n got %#v\nwant %#v", err, line, got, want)
			}
		}
	}
}

// TestCodecWritesBigFieldsOnce: fields that a call's records share are only in one
// line.
func TestCodecWritesBigFieldsOnce(t *testing.T) {
	call := core.Call{
		ID: "c1", Turn: "t1", State: core.Proposed, Title: "TITLE", Args: json.RawMessage(`"ARGS"`), Output: json.RawMessage(`"OUTPUT"`),
		Content: []core.Block{core.Text{Text: "CONTENT"}},
	}
	var enc codec.Encoder
	var log []byte
	for _, s := range []core.CallState{core.Proposed, core.Awaiting, core.Running, core.Running, core.Succeeded} {
		call.State = s
		log = enc.Append(log, core.Record{Event: core.CallChanged{Call: call}})
	}
	for _, word := range []string{"TITLE", "ARGS", "OUTPUT", "CONTENT"} {
		if n := bytes.Count(log, []byte(word)); n != 1 {
			t.Errorf("%s was written %d times, want once:\n%s", word, n, log)
		}
	}
}

func TestCodecDecode(t *testing.T) {
	later := core.Resource{URI: codec.ForeignBlock + "hologram", MIME: "application/json", Text: `{"type":"hologram","z":[1]}`}
	tests := []struct {
		name, line string
		want       core.Event // nil: an error
	}{
		{"unknown members", `{"e":1,"s":1,"new":{"a":[]},"k":"text","v":{"id":"m","text":"x","more":[{"}":"{"}]},"c":"00000000"}`, core.TextDelta{Message: "m", Text: "x"}},
		{"another order", `{"v":{"text":"x","id":"m"},"k":"text","s":1,"e":1}`, core.TextDelta{Message: "m", Text: "x"}},
		{"spaces", " { \"k\" : \"text\" , \"v\" : { \"id\" : \"m\" , \"text\" : \"x\" } } ", core.TextDelta{Message: "m", Text: "x"}},
		{"escapes", `{"k":"t\u0065xt","v":{"id":"\u006d","text":"\u00e9\ud83d\ude00\ud800\b\f\/"}}`, core.TextDelta{Message: "m", Text: "é😀\ufffd\b\f/"}},
		{"unknown kind", `{"k":"from \"later\"","v":{"a": 1}}`, core.Unknown{Kind: `from "later"`, Raw: json.RawMessage(`{"a": 1}`)}},
		{"unknown kind without body", `{"k":"later"}`, core.Unknown{Kind: "later"}},
		{"known kind of another shape", `{"k":"title","v":{"title":{"en":"x"}}}`, core.Unknown{Kind: "title", Raw: json.RawMessage(`{"title":{"en":"x"}}`)}},
		{"known kind, not an object", `{"k":"text","v":3}`, core.Unknown{Kind: "text", Raw: json.RawMessage(`3`)}},
		{"block of a later version", `{"k":"turn_started","v":{"turn":"t","message":"m","origin":{},"prompt":[{"type":"text","text":"a"},{"type":"hologram","z":[1]}]}}`, core.TurnStarted{Turn: "t", Message: "m", Prompt: []core.Block{core.Text{Text: "a"}, later}}},
		{"block of another shape", `{"k":"steered","v":{"prompt":[{"type":"text","text":7}]}}`, core.Steered{Prompt: []core.Block{core.Resource{URI: codec.ForeignBlock + "text", MIME: "application/json", Text: `{"type":"text","text":7}`}}}},
		{"a call that refers to nothing", `{"k":"call","v":{"id":"c","state":"running","same":["args","title"]}}`, core.CallChanged{Call: core.Call{ID: "c", State: core.Running}}},
		{"empty", "", nil},
		{"no object", `[1]`, nil},
		{"no kind", `{"e":1}`, nil},
		{"cut", `{"e":1,"s":1,"k":"text","v":{"id":"m","te`, nil},
		{"trailing", `{"k":"text","v":{"id":"m","text":"x"}} x`, nil},
		{"negative", `{"e":-1,"k":"text","v":{}}`, nil},
		{"too large", `{"s":18446744073709551616,"k":"text","v":{}}`, nil},
		{"broken body of an unknown kind", `{"k":"later","v":{"a":tru}}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var dec codec.Decoder
			r, err := dec.Decode([]byte(tt.line))
			if (err != nil) != (tt.want == nil) {
				t.Fatalf("error %v", err)
			}
			if !reflect.DeepEqual(r.Event, tt.want) {
				t.Errorf(" got %#v\nwant %#v", r.Event, tt.want)
			}
		})
	}
}

// TestCodecLeavesOutWhatJSONLacks: values that JSON cannot express are left out, and
// the rest survives.
func TestCodecLeavesOutWhatJSONLacks(t *testing.T) {
	nan, far := math.NaN(), time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)
	berlin := time.FixedZone("", 3600)
	tests := []struct {
		name      string
		give, out core.Event
	}{
		{"cost", core.UsageChanged{Turn: "t", Last: core.Usage{In: 1, Cost: &nan}}, core.UsageChanged{Turn: "t", Last: core.Usage{In: 1}}},
		{"deadline", core.Asked{Ask: core.Ask{ID: "a", Deadline: far}}, core.Asked{Ask: core.Ask{ID: "a"}}},
		{"created", core.Opened{Meta: core.Meta{ID: "s", Created: far}}, core.Opened{Meta: core.Meta{ID: "s"}}},
		{"call's time", core.CallChanged{Call: core.Call{ID: "c", Start: far}}, core.CallChanged{Call: core.Call{ID: "c"}}},
		{"zone", core.Asked{Ask: core.Ask{ID: "a", Deadline: time.Date(2026, 1, 1, 1, 0, 0, 0, berlin)}}, core.Asked{Ask: core.Ask{ID: "a", Deadline: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}},
		{"text", core.TextDelta{Message: "m", Text: "a\xff\xc3b"}, core.TextDelta{Message: "m", Text: "a\ufffd\ufffdb"}},
		{"title", core.TitleChanged{Title: "a\xffb"}, core.TitleChanged{Title: "a\ufffdb"}},
		{"raw", core.Bound{State: json.RawMessage("{\"a\":\"\xff\"}")}, core.Bound{State: json.RawMessage("{\"a\":\"\ufffd\"}")}},
		{"nil block", core.Steered{Turn: "t", Prompt: []core.Block{nil, core.Text{Text: "x"}, nil}}, core.Steered{Turn: "t", Prompt: []core.Block{core.Text{Text: "x"}}}},
		{"no event", nil, core.Unknown{Kind: "lost", Raw: json.RawMessage(`{"err":"a record without an event"}`)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var enc codec.Encoder
			var dec codec.Decoder
			line := encode(t, &enc, []core.Record{{Epoch: 1, Seq: 1, Time: far, Event: tt.give}})[0]
			got, err := dec.Decode(line)
			if err != nil || !reflect.DeepEqual(got, core.Record{Epoch: 1, Seq: 1, Event: tt.out}) {
				t.Errorf("%v\nline %s\n got %#v\nwant %#v", err, line, got.Event, tt.out)
			}
		})
	}
}

func TestCodecPeek(t *testing.T) {
	var enc codec.Encoder
	for _, want := range coretest.Records(9, coretest.Samples()...) {
		line := enc.Append(nil, want)
		want.Event = nil
		for _, cut := range []int{0, 3} { // it reads no further than to the event
			got, err := codec.Peek(line[:len(line)-cut])
			if err != nil || got.Place() != want {
				t.Errorf("%v: got %+v, want %+v\n%s", err, got.Place(), want, line)
			}
		}
	}
}

func TestParseBlocks(t *testing.T) {
	got, err := codec.ParseBlocks(codec.AppendBlocks(nil, coretest.Blocks()))
	if err != nil || !reflect.DeepEqual(got, coretest.Blocks()) {
		t.Errorf("%v\n got %#v\nwant %#v", err, got, coretest.Blocks())
	}
	for _, bad := range []string{"", "{}", "[1]", `[{"type":"text"`, `["x"]`} {
		if b, err := codec.ParseBlocks([]byte(bad)); err == nil {
			t.Errorf("ParseBlocks(%q) = %v, want an error", bad, b)
		}
	}
}

// FuzzDecode: no line makes the decoder panic, and a decoded record stays the same
// when it is encoded and decoded again.
func FuzzDecode(f *testing.F) {
	var enc codec.Encoder
	for _, r := range coretest.Records(1, coretest.Samples()...) {
		f.Add(enc.Append(nil, r))
	}
	f.Add([]byte(`{"k":"call","v":{"id":"c1","same":["args","title","content","output"]}}`))
	f.Add([]byte(`{"k":"\ud83d\ude00","v~":"\u","v":{"a":"\"}`))
	f.Add([]byte(`{"k":"text","v":` + strings.Repeat("[", 2000)))
	f.Fuzz(func(t *testing.T, line []byte) {
		var dec codec.Decoder
		if _, err := codec.Peek(line); err != nil {
			if _, err := dec.Decode(line); err == nil && bytes.Index(line, []byte(`"k"`)) < bytes.Index(line, []byte(`"v`)) {
				t.Fatalf("Decode reads what Peek refuses: %q", line)
			}
			return
		}
		_ = dec.Skip(line)
		r, err := dec.Decode(line)
		if err != nil {
			return
		}
		var again codec.Decoder
		stored := new(codec.Encoder).Append(nil, r)
		if !json.Valid(stored) || bytes.ContainsAny(stored, "\n\r") {
			t.Fatalf("not one line of valid JSON: %q", stored)
		}
		got, err := again.Decode(stored)
		if err != nil || !reflect.DeepEqual(normal(got), normal(r)) {
			t.Fatalf("%v\nline %q\nthen %q\n got %#v\nwant %#v", err, line, stored, got, r)
		}
	})
}

// normal makes records with the same stored form equal: empty lists and no lists.
func normal(r core.Record) string {
	return string(new(codec.Encoder).Append(nil, r))
}

// FuzzString compares our parsing and writing of strings with encoding/json's.
func FuzzString(f *testing.F) {
	f.Add(coretest.Awkward)
	f.Add("\xff\xed\xa0\x80\xc0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		var enc codec.Encoder
		line := enc.Append(nil, core.Record{Event: core.TextDelta{Message: "m", Text: s}})
		var m struct{ V struct{ Text string } }
		if err := json.Unmarshal(line, &m); err != nil || m.V.Text != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Fatalf("%v: wrote %q, which reads %q", err, line, m.V.Text)
		}
		std, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var dec codec.Decoder
		r, err := dec.Decode(append(append([]byte(`{"k":"text","v":{"id":"m","text":`), std...), `}}`...))
		var want string
		if json.Unmarshal(std, &want) != nil || err != nil || r.Event != (core.TextDelta{Message: "m", Text: want}) {
			t.Fatalf("%v: read %#v from %s", err, r.Event, std)
		}
	})
}

func BenchmarkEncodeText(b *testing.B) {
	var enc codec.Encoder
	r := core.Record{Epoch: 1, Seq: 12, Off: 300, Time: time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC), Event: core.TextDelta{Message: "m12", Text: strings.Repeat("some words\n", 10)}}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = enc.Append(dst[:0], r)
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, r := range coretest.Records(1, coretest.Samples()...) {
		line := new(codec.Encoder).Append(nil, r)
		b.Run(strings.TrimPrefix(reflect.TypeOf(r.Event).String(), "core."), func(b *testing.B) {
			var dec codec.Decoder
			b.ReportAllocs()
			for b.Loop() {
				if _, err := dec.Decode(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
