package llm

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"dragoman/core/coretest"
)

// skims are events, and whether they can be skimmed.
var skims = map[string]bool{
	wireDelta: true,
	`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}],"obfuscation":"x9Ü"}`:                                                                  true,
	` { "choices" : [ { "delta" : { "content" : "a\nb\u00e9\ud83d\ude00" } } ] } `:                                                                                true,
	`{"choices":[{"delta":{"reasoning":"a","reasoning_content":"b","content":null,"role":"assistant"}}]}`:                                                         true,
	`{"choices":[{"delta":{"content":"é"},"x":[{},[],-1.5e+3,true,false,null,{"a":{"b":[0]}}]}],"usage":null}`:                                                    true,
	`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":3,"completion_tokens":1,"x":[]}}`:                                                            true,
	`{"choices":[{"delta":{"tool_calls":[{"index":3,"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":\"\\u00e9"},"extra_content":null}]}}]}`: true,
	`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":""}}]}}]}`:                                                                                      true,
	`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":{"a":1}}}]}}]}`:                                                                                 false,
	`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":null}}]}}]}`:                                                                                    false,
	`{"choices":[{"delta":{"tool_calls":[{"extra_content":{"a":1}}]}}]}`:                                                                                          false,
	`{"choices":[{"delta":{"tool_calls":[{"index":0},{"index":1}]}}]}`:                                                                                            false,
	`{"choices":[{"delta":{"tool_calls":[{"index":12}]}}]}`:                                                                                                       false,
	`{"choices":[{"delta":{"tool_calls":[null]}}]}`:                                                                                                               false,
	`{"choices":[{"delta":{"tool_calls":[{}]}}]}`:                                                                                                                 true,
	`{"choices":[{"delta":{}}]}`:                                      true,
	`{"choices":[{"delta":{"tool_calls":[],"refusal":null}}]}`:        true,
	`{"choices":[{"delta":{"content":"a"}}],"usage":{"x":1},"u":01}`:  false,
	`{"choices":[{"delta":{"content":"a"}}],"usage":7}`:               false,
	`{"choices":[{"delta":{"content":"a","content":"b"}}]}`:           false,
	`{"choices":[{"delta":{"content":"a","Content":"b"}}]}`:           false,
	`{"choices":[{"delta":{"content":"a","\u0063ontent":"b"}}]}`:      false,
	`{"choices":[{"delta":{"content":[{"type":"text"}]}}]}`:           false,
	`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`:  false,
	`{"choices":[{"delta":{"content":"a"},"index":1}]}`:               false,
	`{"choices":[{"delta":{"content":"a"},"index":00}]}`:              false,
	`{"choices":[{"delta":{"content":"a"}},{"delta":{}}]}`:            false,
	`{"choices":[{"message":{"content":"a"}}]}`:                       false,
	`{"choices":[{"delta":{"content":"a"}}],"error":{"message":"x"}}`: false,
	`{"choices":[{"delta":{"content":"a"}}]}x`:                        false,
	`{"choices":[{"delta":{"content":"a"}}]`:                          false,
	"{\"choices\":[{\"delta\":{\"content\":\"a\nb\"}}]}":              false,
	`{"choices":[{"delta":{"content":"\x"}}]}`:                        false,
	`{"choices":[{"delta":{"content":"a"}}],"a":nulL}`:                false,
	`{"choices":[]}`: false,
	`{"usage":{}}`:   false,
	`{}`:             false,
	`null`:           false,
	``:               false,
}

// asRead fails unless the skimmed event equals the result of encoding/json.
func asRead(t *testing.T, data []byte) (skimmed bool) {
	t.Helper()
	var s skimmer
	m, u, ok := s.read(data)
	if !ok {
		return false
	}
	got := wireChunk{Choices: []wireChoice{{Delta: *m}}, Usage: u}
	var want wireChunk
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatalf("%q is skimmed, and is wrong: %v", data, err)
	}
	want.Error = nil // it is null
	for i := range want.Choices {
		if len(want.Choices[i].Delta.ToolCalls) == 0 {
			want.Choices[i].Delta.ToolCalls = nil
		}
		for j := range want.Choices[i].Delta.ToolCalls {
			if c := &want.Choices[i].Delta.ToolCalls[j]; string(c.ExtraContent) == "null" {
				c.ExtraContent = nil
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q\n got %+v\nwant %+v", data, got, want)
	}
	return true
}

func TestSkim(t *testing.T) {
	for event, want := range skims {
		if got := asRead(t, []byte(event)); got != want {
			t.Errorf("%s: skimmed %v", event, got)
		}
	}
	deep := `{"choices":[{"delta":{"content":"a"}}],"x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}"
	if asRead(t, []byte(deep)) {
		t.Error("as deep as it likes")
	}
}

// FuzzSkim: every skimmed event equals the result of encoding/json.
func FuzzSkim(f *testing.F) {
	for event := range skims {
		f.Add([]byte(event))
	}
	f.Fuzz(func(t *testing.T, data []byte) { asRead(t, data) })
}

// An answer is the same, however its events are read, and whatever other events are
// between them.
func TestChatSkimmed(t *testing.T) {
	plain := `{"id":"x","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}`
	for name, format := range map[string]string{
		"plain":      plain,
		"elsewhere":  `{"x":{"content":"a"},"choices":[{"index":0,"delta":{"content": %s}}]}`,
		"twice":      `{"choices":[{"index":0,"delta":{"content":"a","content":%s}}]}`,
		"in a text":  `{"x":"\"content\":\"a\"","choices":[{"index":0,"delta":{"content":%s}}]}`,
		"message":    `{"choices":[{"index":0,"message":{"content":%s}}]}`,
		"second":     `{"choices":[{"index":1,"delta":{"content":"a"}},{"index":0,"delta":{"content":%s}}]}`,
		"reasoning":  `{"choices":[{"index":0,"delta":{"reasoning":"hm","content":%s}}]}`,
		"with usage": `{"choices":[{"index":0,"delta":{"content":%s}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			body, want := "", ""
			for i, piece := range []string{"a", "a", "b", "", `say "x"`, "c\\d", "é\u2028", "line\n", "tab\t", "a", "{", `"}`, "end"} {
				body += "data: " + fmt.Sprintf(format, quote(piece)) + "\n\n"
				want += piece
				if i == 6 {
					body += "data: " + fmt.Sprintf(plain, quote("between")) + "\n\n"
					want += "between"
				}
			}
			body += "data: " + finished("stop") + "\n\ndata: [DONE]\n\n"
			h := coretest.Hear(t.Context(), t, bodyModel{chatFor("http://svc.test/v1"), strings.NewReader(body)}, coretest.ModelRequest(), nil)
			if h.Err != nil || h.Text != want {
				t.Errorf("%v\n got %q\nwant %q", h.Err, h.Text, want)
			}
		})
	}
}
