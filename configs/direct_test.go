package configs

import (
	"context"
	"strings"
	"testing"
)

// A provider that is directed elsewhere gets nothing of ours, and its texts contain no
// references.
func TestDirect(t *testing.T) {
	c, err := read("config.yaml", []byte("providers:\n  openai: {api_key: ours, headers: {X-Ours: a}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	env := environment("OPENAI_API_KEY", "ours", "GROQ_API_KEY", "ours")
	given := givenKeys{"openai": "ours", "groq": "ours"}
	other, err := c.Direct("openai", KindAnthropic, "https://proxy.example/v1", map[string]string{"Authorization": "Bearer ${env:GROQ_API_KEY}"})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := other.Provider("openai")
	address, _ := p.BaseURL.Resolve(env)
	header, _ := p.Headers["Authorization"].Resolve(env)
	if p.Kind != KindAnthropic || address != "https://proxy.example/v1" || header != "Bearer ${env:GROQ_API_KEY}" || len(p.Headers) != 1 {
		t.Errorf("%+v, %q, %q", p, address, header)
	}
	key, err := other.Key(context.Background(), "openai", env, given, nil)
	if source, _ := other.KeySource("openai", env, given); key != "" || source != "" || err != nil || other.CheckKey("openai", env, given) != nil {
		t.Errorf("key %q from %q, %v", key, source, err)
	}
	if choice := other.ChooseModel(environment(), nil); choice.Provider != "openai" || !other.Directed("openai") {
		t.Errorf("chosen: %v", choice)
	}
	if choice := other.Without("openai").ChooseModel(env, nil); choice.Provider != "groq" || !other.Without("openai").Disabled("openai") {
		t.Errorf("without it: %v", choice)
	}
	if c.Directed("openai") || c.Providers["openai"].APIKey.IsZero() {
		t.Error("the configuration itself was changed")
	}
	if text := string(Marshal(other)); strings.Contains(text, "GROQ_API_KEY}") && !strings.Contains(text, "***") {
		t.Errorf("%s", text)
	}
	for _, wrong := range []struct {
		kind, url string
		headers   map[string]string
	}{
		{"soap", "https://x/v1", nil},
		{KindAnthropic, "file:///etc/passwd", nil},
		{KindAnthropic, "https://user:pw@x/v1", nil},
		{KindAnthropic, "https://x/v1", map[string]string{"A B": "x"}},
		{KindAnthropic, "https://x/v1", map[string]string{"A": "x\r\nB: y"}},
	} {
		if _, err := c.Direct("openai", wrong.kind, wrong.url, wrong.headers); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
}
