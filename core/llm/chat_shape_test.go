package llm

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// asShape fails unless a text read by the form of an event is the one of encoding/json.
func asShape(t *testing.T, event []byte, text string) (read bool) {
	t.Helper()
	var s skimmer
	var f chatShape
	if _, _, ok := s.read(event); !ok {
		return false
	}
	if f.learn(&s, event); !f.known {
		return false
	}
	if got, ok := f.text(event); ok && string(got) != s.delta.Content.text+s.delta.Reasoning+s.delta.ReasoningContent {
		t.Errorf("%s: its own text is %q", event, got)
	}
	other := bytes.Join([][]byte{f.before, []byte(text), f.after}, nil)
	got, ok := f.text(other)
	if !ok {
		return false
	}
	var want wireChunk
	if err := json.Unmarshal(other, &want); err != nil {
		t.Fatalf("%q is read, and is wrong: %v", other, err)
	}
	m := want.Choices[0].Delta
	is := map[string]string{"": m.Content.text, "reasoning": m.Reasoning, "reasoning_content": m.ReasoningContent}
	if is[f.field] != string(got) || len(m.Content.text+m.Reasoning+m.ReasoningContent) != len(got) {
		t.Fatalf("%q: got %q in %q, want %+v", other, got, f.field, m)
	}
	return true
}

func TestChatShape(t *testing.T) {
	for event, want := range map[string]bool{
		wireDelta: true,
		` { "choices" : [ { "delta" : { "role":"assistant", "content" : "assistant" } } ] } `: true,
		`{"choices":[{"delta":{"content":null,"reasoning_content":"b"}}]}`:                    true,
		`{"choices":[{"delta":{"reasoning":"a","x":"content\":\""}}]}`:                        true,
		`{"choices":[{"delta":{"content":"a\nb"}}]}`:                                          true,
		`{"choices":[{"delta":{"content":""}}]}`:                                              false,
		`{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}`:                             false,
		`{"choices":[{"delta":{"content":"","reasoning":"b"}}]}`:                              false,
		`{"choices":[{"delta":{"content":"a","tool_calls":[]}}]}`:                             true,
		`{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0}]}}]}`:                  false,
		`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}`:                 false,
		`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`:                      false,
	} {
		for text, plain := range map[string]bool{
			"": true, " word": true, "twenty characters ok": true, "häuser und 東京 und 🙂": true,
			`a"}`: false, "a\\n": false, "tab\t": false, "eight888\x01": false, "\xff": false, "12345678\"": false,
		} {
			if got := asShape(t, []byte(event), text); got != (want && plain) {
				t.Errorf("%s with %q: read %v", event, text, got)
			}
		}
	}
}

// Events of other forms between them, and of another length, are read as ever.
func TestChatShapeChanges(t *testing.T) {
	var f chatShape
	var s skimmer
	if _, ok := f.text([]byte(wireDelta)); ok {
		t.Error("no form fits")
	}
	s.read([]byte(wireDelta))
	f.learn(&s, []byte(wireDelta))
	for _, event := range []string{"", "{", wireDelta[:len(wireDelta)-1], strings.Replace(wireDelta, "chatcmpl-B", "chatcmpl-C", 1), string(f.before), string(f.before) + string(f.after[1:])} {
		if text, ok := f.text([]byte(event)); ok {
			t.Errorf("%s has the text %q", event, text)
		}
	}
}

// FuzzChatShape: a text read by a form is that of encoding/json.
func FuzzChatShape(f *testing.F) {
	for event := range skims {
		f.Add([]byte(event), " word")
	}
	f.Fuzz(func(t *testing.T, event []byte, text string) { asShape(t, event, text) })
}
