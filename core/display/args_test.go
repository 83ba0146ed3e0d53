package display

import (
	"strings"
	"testing"
)

func TestArgs(t *testing.T) {
	for args, want := range map[string]string{
		``:   ``,
		`{}`: ``,
		`[`:  ``,
		`{"path":"a","api_key":"hush","max_tokens":5,"h":{"Authorization":"x","list":[{"password":["y"]}]}}`: `{"api_key":"[redacted]","h":{"Authorization":"[redacted]","list":[{"password":"[redacted]"}]},"max_tokens":5,"path":"a"}`,
		`{"a":"<b>\n"}`: `{"a":"<b>\n"}`,
		`{"tokenizer":"bpe","keyboard":"us","passage":"one","key":"Enter"}`: `{"key":"Enter","keyboard":"us","passage":"one","tokenizer":"bpe"}`,
		"{\"a\":\"\\u0072m\u202e\u200b\"}":                                  `{"a":"rm⟨U+202E⟩⟨U+200B⟩"}`,
	} {
		if got := Args([]byte(args), 2000); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
	deep := strings.Repeat(`{"a":`, 500) + `"hush"` + strings.Repeat("}", 500)
	if got := Args([]byte(deep), 2000); strings.Contains(got, "hush") || !strings.HasSuffix(got, "… (1006 more characters)") {
		t.Errorf("deep: %s", got)
	}
	if got := Args([]byte(`{"text":"`+strings.Repeat("ä", 5000)+`"}`), 2000); !strings.HasSuffix(got, "ä… (3011 more characters)") {
		t.Errorf("long: %s", got[len(got)-60:])
	}
}

func TestVisibleArgs(t *testing.T) {
	for args, want := range map[string]string{
		`{"z": 1.50, "a":"b\n"}`: `{"z": 1.50, "a":"b\n"}`, // as they were
		``:                       ``,
		"{\"a\":\"\u202e":        "{\"a\":\"\u202e",
		"{\"z\":1.50,\"a\":[\"x\u202ey\",null],\"b\u200b\":{\"c\":\"line\\n\\ttab \\u001b[31m\"}}": `{"a":["x⟨U+202E⟩y",null],"b⟨U+200B⟩":{"c":"line\n\ttab ⟨U+001B⟩[31m"},"z":1.50}`,
		`{"a":"<\u200b>"}`: `{"a":"<⟨U+200B⟩>"}`,
		`{"a":"ä"}`:        `{"a":"ä"}`,
	} {
		if got := string(VisibleArgs([]byte(args))); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
}
