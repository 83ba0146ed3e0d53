package configs

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func TestChooseModel(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		env        Env
		want       string // model, reason, found
	}{
		{"nothing", "", nil, "offline/demo; no model is configured and no key was found;"},
		{"one key", "", environment("GROQ_API_KEY", "x"), "groq/openai/gpt-oss-120b; GROQ_API_KEY is set; GROQ_API_KEY"},
		{"order", "", environment("MISTRAL_API_KEY", "x", "ANTHROPIC_API_KEY", "y"), "anthropic/claude-sonnet-4-6; ANTHROPIC_API_KEY is set; ANTHROPIC_API_KEY MISTRAL_API_KEY"},
		{"second variable", "", environment("GOOGLE_API_KEY", "x"), "gemini/gemini-2.5-flash; GOOGLE_API_KEY is set; GOOGLE_API_KEY"},
		{"empty variable", "", environment("OPENAI_API_KEY", " \n"), "offline/demo; no model is configured and no key was found; -OPENAI_API_KEY (is set but empty)"},
		{
			"a key for another address", "", environment("ANTHROPIC_API_KEY", "x", "ANTHROPIC_BASE_URL", "https://gateway.example"),
			"offline/demo; no model is configured and no key was found; -ANTHROPIC_API_KEY (is for the address in ANTHROPIC_BASE_URL; set providers.anthropic.base_url to use it)",
		},
		{
			"Gemini's other address", "", environment("GEMINI_API_KEY", "x", "GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1"),
			"offline/demo; no model is configured and no key was found; -GEMINI_API_KEY (is for the address in GOOGLE_GEMINI_BASE_URL; set providers.gemini.base_url to use it)",
		},
		{"the same address", "", environment("OPENAI_API_KEY", "x", "OPENAI_BASE_URL", "https://api.openai.com/v1/"), "openai/gpt-5.1; OPENAI_API_KEY is set; OPENAI_API_KEY"},
		{
			"a configured address", "providers: {anthropic: {base_url: 'https://gateway.example/v1', kind: anthropic}}",
			environment("ANTHROPIC_API_KEY", "x", "ANTHROPIC_BASE_URL", "https://other.example"), "anthropic/claude-sonnet-4-6; ANTHROPIC_API_KEY is set; ANTHROPIC_API_KEY",
		},
		{"set", "model: ollama/qwen3", environment("OPENAI_API_KEY", "x"), "ollama/qwen3; model is set in config.yaml:1:8; OPENAI_API_KEY"},
		{"set to offline", "model: offline/demo", environment("OPENAI_API_KEY", "x"), "offline/demo; model is set in config.yaml:1:8; OPENAI_API_KEY"},
		{"literal key", "providers: {deepseek: {api_key: x}}", nil, "deepseek/deepseek-v4-flash; providers.deepseek.api_key is set; providers.deepseek.api_key"},
		{
			"reference that leads nowhere", "providers: {openai: {api_key: '${env:MINE}'}}", environment("OPENAI_API_KEY", "x", "GROQ_API_KEY", "y"),
			"groq/openai/gpt-oss-120b; GROQ_API_KEY is set; -providers.openai.api_key (environment variable MINE is not set; " + unsetAdvice + ") GROQ_API_KEY",
		},
		{"a local one is not chosen", "providers: {ollama: {}, local: {base_url: 'http://localhost/v1'}}", nil, "offline/demo; no model is configured and no key was found;"},
	} {
		c, err := read("config.yaml", []byte(tt.file))
		if err != nil {
			t.Fatal(err)
		}
		choice := c.ChooseModel(tt.env, nil)
		got := choice.String() + "; " + choice.Reason + ";"
		for _, l := range choice.Places {
			switch {
			case l.Found:
				got += " " + l.Variable
			case l.Note != "":
				got += " -" + l.Variable + " (" + l.Note + ")"
			}
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		if len(choice.Places) != 8 {
			t.Errorf("%s: looked at %d places: %v", tt.name, len(choice.Places), choice.Places)
		}
		if url := choice.Settings.BaseURL.String(); choice.Offline() != (url == "") {
			t.Errorf("%s: address %q", tt.name, url)
		}
	}
}

func TestKnownProviders(t *testing.T) {
	for _, k := range KnownProviders() {
		if message := badURL(k.BaseURL); message != "" || strings.HasSuffix(k.BaseURL, "/") {
			t.Errorf("%s: %s %s", k.Name, k.BaseURL, message)
		}
		choice, err := Defaults().FindModel(k.Name + "/" + k.Model)
		if err != nil || choice.Settings.Kind != k.Kind || choice.Settings.BaseURL.String() != k.BaseURL {
			t.Errorf("%s: %+v, %v", k.Name, choice, err)
		}
		if k.Local() != isLoopback(k.BaseURL) {
			t.Errorf("%s: local is %v", k.Name, k.Local())
		}
	}
}

// It is called some hundred times before the first answer of a process.
func TestKnownProviderMakesNoGarbage(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() { KnownProvider("lmstudio") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func isLoopback(url string) bool { return strings.HasPrefix(url, "http://localhost:") }

func TestFindModel(t *testing.T) {
	c, err := read("config.yaml", []byte("providers: {local: {base_url: 'http://localhost/v1'}, openai: {base_url: 'http://localhost/proxy', headers: {A: b}}}"))
	if err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"local/a/b":    "local a/b http://localhost/v1",
		"openai/gpt":   "openai gpt http://localhost/proxy",
		"groq/x":       "groq x https://api.groq.com/openai/v1",
		"offline/demo": "offline demo ",
	} {
		choice, err := c.FindModel(spec)
		if got := fmt.Sprint(choice.Provider, " ", choice.Model, " ", choice.Settings.BaseURL); err != nil || got != want {
			t.Errorf("%s: %q, %v", spec, got, err)
		}
	}
	for _, spec := range []string{"", "x", "/x", "x/", "nowhere/x", "offline/x", "openai/a b"} {
		if choice, err := c.FindModel(spec); err == nil || !strings.HasPrefix(err.Error(), "model ") {
			t.Errorf("%q: %v, %v", spec, choice, err)
		}
	}
}

func TestKey(t *testing.T) {
	c, err := read("config.yaml", []byte(`
model: local/x
providers:
  local: {base_url: 'http://localhost/v1'}
  openai: {api_key: "${env:MINE}"}
  groq: {api_key: "${env:EMPTY}"}
`))
	if err != nil {
		t.Fatal(err)
	}
	env := environment("MINE", " mine\n", "OPENAI_API_KEY", "other", "GEMINI_API_KEY", "", "GOOGLE_API_KEY", "google", "EMPTY", "")
	for provider, want := range map[string]string{"local": "", "ollama": "", "openai": "mine", "gemini": "google"} {
		if got, err := c.Key(t.Context(), provider, env, nil, nil); err != nil || got != want {
			t.Errorf("%s: %q, %v", provider, got, err)
		}
	}
	for provider, want := range map[string]string{
		"groq":    "config.yaml:6:19: providers.groq.api_key: ${env:EMPTY} is empty",
		"mistral": "there is no key for mistral: run \"dragoman login mistral\", or set MISTRAL_API_KEY where dragoman is started",
	} {
		if got, err := c.Key(t.Context(), provider, env, nil, nil); err == nil || got != "" || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %s", provider, got, err, want)
		}
	}
}

// givenKeys are Logins: keys that a person has given count last.
type givenKeys map[string]string

func (g givenKeys) Has(provider string) bool { return g[provider] != "" }

func (g givenKeys) Key(_ context.Context, provider string) (string, error) { return g[provider], nil }

func TestLogins(t *testing.T) {
	c, err := read("config.yaml", []byte("providers:\n  groq: {api_key: configured}\n"))
	if err != nil {
		t.Fatal(err)
	}
	given := givenKeys{"groq": "given", "openai": "given", "mistral": "given", "gemini": ""}
	env := environment("OPENAI_API_KEY", "env")
	for provider, want := range map[string][3]string{
		"groq": {"configured", "config", ""}, "openai": {"env", "env", "OPENAI_API_KEY"}, "mistral": {"given", "login", ""}, "ollama": {"", "", ""},
	} {
		key, err := c.Key(t.Context(), provider, env, given, nil)
		source, variable := c.KeySource(provider, env, given)
		if got := [3]string{key, string(source), variable}; got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", provider, got, err, want)
		}
	}
	if _, err := c.Key(t.Context(), "gemini", env, given, nil); err == nil || c.CheckKey("gemini", env, given) == nil {
		t.Error("an empty key was taken")
	}
	choice := Defaults().ChooseModel(environment(), given)
	if choice.Provider != "openai" || choice.Reason != "a key was given for openai" {
		t.Errorf("%+v", choice)
	}
}

// Missing prices follow from the given ones.
func TestKnownPrice(t *testing.T) {
	for e, want := range map[*ModelEntry]*Price{
		{Price: Price{Input: 2, Output: 8}}:                  {2, 8, 2, 2},
		{Price: Price{Input: 2, Output: 8, CacheRead: 0.25}}: {2, 8, 0.25, 2},
		{Free: true}:   {},
		{Name: "None"}: nil,
	} {
		if got := e.KnownPrice(); (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%+v: %+v, want %+v", e, got, want)
		}
	}
}
