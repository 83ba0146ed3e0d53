package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What an editor sets lies below the user's file; what it sends besides is left
// out and listed; what is wrong is said and costs no more than its own section.
func TestEditorLayer(t *testing.T) {
	layer, unknown, err := ParseEditor([]byte(`{
		"chatAgent": "plan", "welcomeMessage": "hi", "model": "local/small", "log": {"level": "loud"}, "limits": {"max_turn_requests": 7, "compact_at": 50},
		"providers": {"local": {"base_url": "http://localhost:1/v1"}}, "agents": null, "policy": {"deny": [{"tool": "a"}], "defalt": "ask"}
	}`))
	if !slices.Equal(unknown, []string{"chatAgent", "welcomeMessage"}) || UnknownKeys(unknown) != "mean nothing here: welcomeMessage" {
		t.Errorf("unknown: %v, %q", unknown, UnknownKeys(unknown))
	}
	if err == nil {
		t.Fatal("nothing was said")
	}
	want := "the editor's options: log.level: must be debug, info, warn or error, got \"loud\"\n" +
		"the editor's options: policy.defalt: unknown key; did you mean \"default\"?"
	if err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("limits: {max_turn_requests: 9}\nproviders:\n  local: {headers: {X-A: b}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Options{Path: file, Editor: layer})
	if err != nil {
		t.Fatal(err)
	}
	if c.Model != "local/small" || c.Limits.MaxTurnRequests != 9 || c.Limits.CompactAt != 50 || len(c.Policy.Deny) != 0 || c.Log.Level != "warn" ||
		len(c.Providers["local"].Headers) != 1 || c.Source != file {
		t.Errorf("%+v", c)
	}
	none, err := Load(Options{Env: environment(), Editor: layer})
	if err != nil || none.Model != "local/small" || none.Policy.Default != "ask" {
		t.Errorf("without a file: %+v, %v", none, err)
	}
}

// Whatever an editor sends, a layer comes of it.
func TestEditorLayerOfNonsense(t *testing.T) {
	for _, text := range []string{"", "null", "{}", " ", "[]", "7", "{", `{"model":7}`, `{"model":"nowhere"}`, `{"agents":[]}`, `{"providers":{"":{}}}`, `{"":1}`, "{\"a\":\"\xff\"}"} {
		layer, _, err := ParseEditor([]byte(text))
		if layer == nil {
			t.Fatalf("%s: no layer", text)
		}
		if wrong := strings.Contains(text, "[]") || strings.Contains(text, "7") || text == "{" || strings.Contains(text, "nowhere") || strings.Contains(text, `{"":{}`); (err != nil) != wrong {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := Load(Options{Env: environment(), Editor: layer}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseEditor(f *testing.F) {
	f.Add([]byte(`{"model":"openai/x","agents":{"a":{"tools":["x"]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		layer, _, _ := ParseEditor(data)
		if _, err := Load(Options{Env: environment(), Editor: layer}); err != nil {
			t.Errorf("what was taken is wrong: %v", err)
		}
	})
}
