package setup

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/cmd/internal/program/programtest"
	"dragoman/core/control"
)

func TestAccountsAreListed(t *testing.T) {
	p := profilesOf(t, map[string]string{"OPENAI_API_KEY": "k"})
	p.process.env.Flags.Config = filepath.Join(t.TempDir(), "c.yaml")
	programtest.Write(t, p.process.env.Flags.Config, "providers: {mine: {base_url: \"http://localhost:1/v1\"}, groq: {api_key: \"${env:NOWHERE}\"}, mistral: {api_key: x}}\nmodel: mine/x\n")
	if _, err := p.process.logins.Set(t.Context(), "gemini", "k"); err != nil {
		t.Fatal(err)
	}
	got := map[string]control.Account{}
	for _, a := range p.Accounts().List(t.Context()) {
		got[a.Provider] = a
	}
	for name, want := range map[string]control.Account{
		"openai":    {Provider: "openai", Label: "OpenAI", Configured: true, Source: "env", EnvVar: "OPENAI_API_KEY"},
		"mine":      {Provider: "mine", Label: "mine", Configured: true},
		"groq":      {Provider: "groq", Label: "Groq", Source: "config", EnvVar: "GROQ_API_KEY"},
		"mistral":   {Provider: "mistral", Label: "Mistral", Configured: true, Source: "config", EnvVar: "MISTRAL_API_KEY"},
		"gemini":    {Provider: "gemini", Label: "Google Gemini", Configured: true, Source: "login", EnvVar: "GEMINI_API_KEY"},
		"anthropic": {Provider: "anthropic", Label: "Anthropic", EnvVar: "ANTHROPIC_API_KEY"},
		"ollama":    {Provider: "ollama", Label: "Ollama", Configured: true, Local: true},
	} {
		a := got[name]
		if methods := len(a.Methods); (methods == 0) != want.Local {
			t.Errorf("%s has %d methods", name, methods)
		}
		a.Methods = nil
		if have, _ := json.Marshal(a); string(have) != string(mustJSON(t, want)) {
			t.Errorf("%s: %s, want %+v", name, have, want)
		}
	}
	step, err := p.Accounts().Login(t.Context(), "openai", "", nil)
	if err != nil || len(step.Fields) != 1 || !step.Fields[0].Secret || !strings.Contains(step.Message, "OPENAI_API_KEY is set, which wins over it") {
		t.Errorf("%+v, %v", step, err)
	}
	if _, err := p.Accounts().Login(t.Context(), "openai", "oauth", nil); err == nil || !strings.Contains(err.Error(), `no method "oauth"`) {
		t.Errorf("%v", err)
	}
}

// A client signs in to the provider whose model is the default: the configured one even without a
// key, or else one that has a key, or else the demo, which needs none.
func TestSignInIsForTheChosenProvider(t *testing.T) {
	for _, tt := range []struct {
		name, config string
		env          map[string]string
		want         control.Account
	}{
		{"no key", "model: anthropic/claude-sonnet-4-6\n", nil, control.Account{Provider: "anthropic"}},
		{"another key", "model: anthropic/claude-sonnet-4-6\n", map[string]string{"OPENAI_API_KEY": "k"}, control.Account{Provider: "anthropic"}},
		{"a key", "model: anthropic/claude-sonnet-4-6\n", map[string]string{"ANTHROPIC_API_KEY": "k"}, control.Account{Provider: "anthropic", Configured: true, Source: "env"}},
		{"no model", "{}\n", map[string]string{"OPENAI_API_KEY": "k"}, control.Account{Provider: "openai", Configured: true, Source: "env"}},
		{"nothing", "{}\n", nil, control.Account{Provider: "offline", Configured: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := profilesOf(t, tt.env)
			p.process.env.Flags.Config = filepath.Join(t.TempDir(), "c.yaml")
			programtest.Write(t, p.process.env.Flags.Config, tt.config)
			got, err := p.SignIn().Chosen(t.Context())
			if err != nil || got.Provider != tt.want.Provider || got.Configured != tt.want.Configured || got.Source != tt.want.Source {
				t.Errorf("%+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
