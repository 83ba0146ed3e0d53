package configs

import "strings"

// The model that needs nothing: no key, no network.
const (
	OfflineProvider = "offline"
	OfflineModel    = "demo"
)

// The wire formats.
const (
	KindOpenAIChat      = "openai-chat"
	KindOpenAIResponses = "openai-responses"
	KindAnthropic       = "anthropic"
	KindOllama          = "ollama"
)

// Known is a provider that needs no more than a key.
type Known struct {
	Name    string
	Kind    string   // its wire format
	BaseURL string   // with the version
	Keys    []string // variables that may hold the key, the first one found counts; none: no key is needed
	Model   string   // the model when only a key is given
}

// Local reports whether the provider is a program on this machine. Such a one
// is used only when it is named: looking whether it runs would be a network
// access at every start.
func (k Known) Local() bool { return len(k.Keys) == 0 }

// KnownProviders returns the known providers in the order in which keys are
// looked for. The models are ones that take tools over chat completions.
func KnownProviders() []Known {
	return []Known{
		{"openai", KindOpenAIResponses, "https://api.openai.com/v1", []string{"OPENAI_API_KEY"}, "gpt-5.1"},
		{"openrouter", KindOpenAIChat, "https://openrouter.ai/api/v1", []string{"OPENROUTER_API_KEY"}, "anthropic/claude-sonnet-4.6"},
		{"anthropic", KindAnthropic, "https://api.anthropic.com/v1", []string{"ANTHROPIC_API_KEY"}, "claude-sonnet-4-6"},
		{"gemini", KindOpenAIChat, "https://generativelanguage.googleapis.com/v1beta/openai", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, "gemini-2.5-flash"},
		{"groq", KindOpenAIChat, "https://api.groq.com/openai/v1", []string{"GROQ_API_KEY"}, "openai/gpt-oss-120b"},
		{"deepseek", KindOpenAIChat, "https://api.deepseek.com/v1", []string{"DEEPSEEK_API_KEY"}, "deepseek-v4-flash"},
		{"mistral", KindOpenAIChat, "https://api.mistral.ai/v1", []string{"MISTRAL_API_KEY"}, "mistral-large-latest"},
		{"ollama", KindOpenAIChat, "http://localhost:11434/v1", nil, "qwen3"},
		{"lmstudio", KindOpenAIChat, "http://localhost:1234/v1", nil, "openai/gpt-oss-20b"},
	}
}

func known(name string) (Known, bool) {
	for _, k := range KnownProviders() {
		if k.Name == name {
			return k, true
		}
	}
	return Known{}, false
}

func knownNames() []string {
	var names []string
	for _, k := range KnownProviders() {
		names = append(names, k.Name)
	}
	return names
}

// Provider returns a provider's settings with the defaults of a known name
// filled in. It reports false for a name that is neither known nor configured,
// and for the offline one, which has no settings.
func (c *Config) Provider(name string) (Provider, bool) {
	p, configured := c.Providers[name]
	k, isKnown := known(name)
	if p.Kind == "" {
		// Behind a base URL of the user's is most often a server that speaks as most do.
		if p.Kind = KindOpenAIChat; isKnown && p.BaseURL.IsZero() {
			p.Kind = k.Kind
		}
	}
	if isKnown && p.BaseURL.IsZero() {
		p.BaseURL = NewURL(k.BaseURL)
	}
	return p, configured || isKnown
}

// Key returns the key of a provider: its api_key, else the first variable of a
// known name that is set and not empty. It is empty for a provider that needs
// none. The error is an *Error that says what to set.
func (c *Config) Key(provider string, env Env) (string, error) {
	missing := func(key, message string) error {
		return &Error{Problems: []Problem{{Position: c.near(key), Key: key, Message: message}}}
	}
	if p := c.Providers[provider]; !p.APIKey.IsZero() {
		secret, err := p.APIKey.Resolve(env)
		if err == nil && strings.TrimSpace(secret) == "" {
			err = missing(join(join("providers", provider), "api_key"), p.APIKey.String()+" is empty")
		}
		return strings.TrimSpace(secret), err
	}
	k, _ := known(provider)
	for _, name := range k.Keys {
		if secret, _ := env.lookup(name); strings.TrimSpace(secret) != "" {
			return strings.TrimSpace(secret), nil
		}
	}
	if k.Local() {
		return "", nil
	}
	return "", missing(join(join("providers", provider), "api_key"), "there is no key for "+provider+": set "+oneOf(k.Keys)+
		" where dragoman is started, or write this setting in the configuration file (programs started from a desktop do not see the shell's variables)")
}

// splitModel takes PROVIDER/MODEL apart. The model may hold further slashes.
func splitModel(spec string) (provider, model string, ok bool) {
	provider, model, _ = strings.Cut(spec, "/")
	return provider, model, provider != "" && model != "" && !strings.ContainsAny(spec, " \t\r\n")
}

// parseModel resolves PROVIDER/MODEL. The message says what is wrong.
func (c *Config) parseModel(spec string) (choice Choice, message string) {
	provider, model, ok := splitModel(spec)
	if !ok {
		message = "must be PROVIDER/MODEL, got " + quote(spec)
		if k, isKnown := known(spec); isKnown {
			message += "; for example " + quote(k.Name+"/"+k.Model)
		}
		return Choice{}, message
	}
	if provider == OfflineProvider {
		if model != OfflineModel {
			return Choice{}, "the offline provider has only the model " + quote(OfflineModel) + ", got " + quote(model)
		}
		return offline(), ""
	}
	settings, ok := c.Provider(provider)
	if !ok {
		names := append(knownNames(), OfflineProvider)
		for name := range c.Providers {
			names = append(names, name)
		}
		return Choice{}, "provider " + quote(provider) + " is neither configured under providers nor known" + didYouMean(provider, names)
	}
	return Choice{Provider: provider, Model: model, Settings: settings}, ""
}
