package upstream

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/core"
)

// A person who decides about a call sees the server, the tool's own name and the
// arguments, in this order. The server's title for the tool comes last.
func TestPreviewShowsTheCall(t *testing.T) {
	of := func(title, args string) core.Preview {
		t.Helper()
		tool := &tool{listedTool: &listedTool{spec: core.Spec{Server: "evil", Name: "ok", Title: title}}}
		pv, err := tool.Preview(t.Context(), core.Invocation{Args: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		return pv
	}
	for _, c := range []struct{ title, args, want string }{
		{"", `{}`, "evil: ok"},
		{"ok", `{"path":"a"}`, `evil: ok {"path":"a"}`},
		{"files: read README.md", `{"tokenizer":"x","password":"p","n":12345678901234567890}`, `evil: ok {"n":12345678901234567890,"password":"[redacted]","tokenizer":"x"} (files: read README.md)`},
		{"a\u202eb", "{\"path\":\"\\u0072m \u202e\u200b-r\\u001b[2J\"}", `evil: ok {"path":"rm ⟨U+202E⟩⟨U+200B⟩-r\u001b[2J"} (a⟨U+202E⟩b)`},
	} {
		if got := of(c.title, c.args); got.Title != c.want || got.Content != nil {
			t.Errorf("%s:\n%s, want\n%s", c.args, got.Title, c.want)
		}
	}
	long := of("", `{"sql":"`+strings.Repeat("ä", 9000)+`"}`)
	text, _ := long.Content[0].(core.Text)
	if !strings.HasSuffix(long.Title, "… (8850 more characters)") || !strings.HasSuffix(text.Text, "… (1010 more characters)") {
		t.Errorf("%s\n%s", long.Title[len(long.Title)-60:], text.Text[len(text.Text)-60:])
	}
}
