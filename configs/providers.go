package configs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
)

// The model that needs no key and no network.
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

// kind is a row of the table of kinds.
type kind struct {
	name   string
	direct bool // a client can direct a provider to a service of this kind
}

// allKinds returns the table of the kinds of providers.
func allKinds() []kind {
	return []kind{
		{KindOpenAIChat, true},
		{KindOpenAIResponses, true},
		{KindAnthropic, true},
		{"azure", true},
		{KindOllama, true},
		{"replay", false},
		{"mcp-sampling", false},
		{"langchain/cloudflare", false},
		{"langchain/cohere", false},
		{"langchain/ernie", false},
		{"langchain/huggingface", false},
		{"langchain/maritaca", false},
	}
}

// Kinds lists the kinds that a provider can have.
func Kinds() []string {
	var names []string
	for _, k := range allKinds() {
		names = append(names, k.name)
	}
	return names
}

// DirectKinds lists the kinds that a client can direct a provider to.
func DirectKinds() []string {
	var names []string
	for _, k := range allKinds() {
		if k.direct {
			names = append(names, k.name)
		}
	}
	return names
}

// ProviderPreset is a provider that needs only a key.
type ProviderPreset struct {
	Name    string
	Kind    string   // its wire format
	BaseURL string   // including the version
	Keys    []string // variables that may hold the key, the first one found counts; none: no key is needed
	Model   string   // the model if only a key is given
	Page    string   // the page where people get a key; "": they need none
	Label   string   // its usual spelling for people
}

// Local reports whether the provider is a program on this machine. Such a one is used only when
// it is named: checking whether it runs would be a network access at every start.
func (k ProviderPreset) Local() bool { return len(k.Keys) == 0 }

// knownProviders is in the order in which keys are searched. The models accept tools over chat
// completions.
var knownProviders = []ProviderPreset{
	{
		"openai",
		KindOpenAIResponses,
		"https://api.openai.com/v1",
		[]string{"OPENAI_API_KEY"},
		"gpt-5.1",
		"https://platform.openai.com/api-keys",
		"OpenAI",
	},
	{
		"openrouter",
		KindOpenAIChat,
		"https://openrouter.ai/api/v1",
		[]string{"OPENROUTER_API_KEY"},
		"anthropic/claude-sonnet-4.6",
		"https://openrouter.ai/settings/keys",
		"OpenRouter",
	},
	{
		"anthropic",
		KindAnthropic,
		"https://api.anthropic.com/v1",
		[]string{"ANTHROPIC_API_KEY"},
		"claude-sonnet-4-6",
		"https://console.anthropic.com/settings/keys",
		"Anthropic",
	},
	{
		"gemini",
		KindOpenAIChat,
		"https://generativelanguage.googleapis.com/v1beta/openai",
		[]string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		"gemini-2.5-flash",
		"https://aistudio.google.com/apikey",
		"Google Gemini",
	},
	{
		"groq",
		KindOpenAIChat,
		"https://api.groq.com/openai/v1",
		[]string{"GROQ_API_KEY"},
		"openai/gpt-oss-120b",
		"https://console.groq.com/keys",
		"Groq",
	},
	{
		"deepseek",
		KindOpenAIChat,
		"https://api.deepseek.com/v1",
		[]string{"DEEPSEEK_API_KEY"},
		"deepseek-v4-flash",
		"https://platform.deepseek.com/api_keys",
		"DeepSeek",
	},
	{
		"mistral",
		KindOpenAIChat,
		"https://api.mistral.ai/v1",
		[]string{"MISTRAL_API_KEY"},
		"mistral-large-latest",
		"https://console.mistral.ai/api-keys",
		"Mistral",
	},
	{"ollama", KindOpenAIChat, "http://localhost:11434/v1", nil, "qwen3", "", "Ollama"},
	{"lmstudio", KindOpenAIChat, "http://localhost:1234/v1", nil, "openai/gpt-oss-20b", "", "LM Studio"},
}

// KnownProviders returns the known providers in the order in which keys are searched.
func KnownProviders() []ProviderPreset { return slices.Clone(knownProviders) }

// KnownProvider finds a provider that needs only a key.
func KnownProvider(name string) (ProviderPreset, bool) {
	for _, k := range knownProviders {
		if k.Name == name {
			return k, true
		}
	}
	return ProviderPreset{}, false
}

func knownNames() []string {
	var names []string
	for _, k := range knownProviders {
		names = append(names, k.Name)
	}
	return names
}

// ProviderNames lists the configured providers by name, then the known ones.
func (c *Config) ProviderNames() []string {
	names := slices.Sorted(maps.Keys(c.Providers))
	for _, name := range knownNames() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Provider returns a provider's settings with the defaults of a known name filled in. It returns
// false for a name that is neither known nor configured, and for the offline one, which has no
// settings.
func (c *Config) Provider(name string) (Provider, bool) {
	p, configured := c.Providers[name]
	k, isKnown := KnownProvider(name)
	if p.Kind == "" {
		// A user's base URL most often belongs to a server with the commonest wire format.
		if p.Kind = KindOpenAIChat; isKnown && p.BaseURL.IsZero() {
			p.Kind = k.Kind
		}
	}
	if isKnown && p.BaseURL.IsZero() {
		p.BaseURL = NewURL(k.BaseURL)
	}
	return p, configured || isKnown
}

// KnownPrice returns the price of a model; nil: unknown. Without prices of their own, cached
// tokens cost the same as other tokens.
func (e ModelEntry) KnownPrice() *Price {
	p := e.Price
	switch {
	case e.Free:
		return &Price{}
	case p == Price{}:
		return nil
	}
	p.CacheRead, p.CacheWrite = cmp.Or(p.CacheRead, p.Input), cmp.Or(p.CacheWrite, p.Input)
	return &p
}

// Logins holds the keys that a person has given to the program, the last place that is searched
// for one. A nil Logins has none.
type Logins interface {
	// Has reports whether a provider has one. It is quick.
	Has(provider string) bool
	// Key returns it. It may block while a keyring is asked.
	Key(ctx context.Context, provider string) (string, error)
}

// KeySource is the source of a provider's key.
type KeySource string

const (
	KeyConfigured KeySource = "config" // its api_key
	KeyInEnv      KeySource = "env"
	KeyGiven      KeySource = "login"
)

// KeySource returns the source of a provider's key, and for KeyInEnv the variable. It is empty if
// there is none. A configured key counts even if it is not available: Key returns the reason.
func (c *Config) KeySource(provider string, env Env, logins Logins) (source KeySource, variable string) {
	if c.Providers[provider].place != placeConfigured {
		return "", "" // our keys must not be sent there
	}
	if !c.Providers[provider].APIKey.IsZero() {
		return KeyConfigured, ""
	}
	k, _ := KnownProvider(provider)
	for _, name := range k.Keys {
		if secret, _ := env.lookup(name); strings.TrimSpace(secret) != "" {
			return KeyInEnv, name
		}
	}
	if logins != nil && logins.Has(provider) {
		return KeyGiven, ""
	}
	return "", ""
}

// NoKeyError reports that a provider needs a key and has none.
type NoKeyError struct {
	Provider  string
	Variables []string // each may hold the key
}

// Error says how to give the key.
func (e *NoKeyError) Error() string {
	return "there is no key for " + e.Provider + ": run \"dragoman login " + e.Provider + "\", or set " +
		oneOf(e.Variables) + " where dragoman is started"
}

// Key returns the key of a provider: its api_key, else the first variable of a known name that is
// set and not empty, else the one that a person has given. It is empty for a provider that needs
// none. The error is a *NoKeyError, or an *Error with advice on the setting. It blocks while a
// program runs that prints the key; run runs it.
func (c *Config) Key(ctx context.Context, provider string, env Env, logins Logins, run Run) (string, error) {
	source, variable := c.KeySource(provider, env, logins)
	switch source {
	case KeyConfigured:
		p := c.Providers[provider]
		secret, err := p.APIKey.ResolveWith(ctx, env, run)
		if secret = strings.TrimSpace(secret); err == nil && secret == "" {
			key := join(join("providers", provider), "api_key")
			empty := Problem{Position: c.near(key), Key: key, Message: p.APIKey.String() + " is empty"}
			err = &Error{Problems: []Problem{empty}}
		}
		return secret, err
	case KeyInEnv:
		secret, _ := env.lookup(variable)
		return strings.TrimSpace(secret), nil
	case KeyGiven:
		return logins.Key(ctx, provider)
	}
	k, _ := KnownProvider(provider)
	if k.Local() || c.Directed(provider) {
		return "", nil
	}
	return "", &NoKeyError{Provider: provider, Variables: k.Keys}
}

// CheckKey returns the error that Key would return, as far as it is known without running a
// program or asking a keyring.
func (c *Config) CheckKey(provider string, env Env, logins Logins) error {
	if c.Providers[provider].APIKey.RunsProgram() {
		return nil
	}
	if source, _ := c.KeySource(provider, env, logins); source == KeyGiven {
		return nil
	}
	_, err := c.Key(context.Background(), provider, env, logins, nil)
	return err
}

// splitModel splits PROVIDER/MODEL. The model may contain further slashes.
func splitModel(spec string) (provider, model string, ok bool) {
	provider, model, _ = strings.Cut(spec, "/")
	return provider, model, provider != "" && model != "" && !strings.ContainsAny(spec, " \t\r\n")
}

// parseModel resolves PROVIDER/MODEL. The message describes the fault.
func (c *Config) parseModel(spec string) (choice Choice, message string) {
	provider, model, ok := splitModel(spec)
	if !ok {
		message = "must be PROVIDER/MODEL, got " + quote(spec)
		if k, isKnown := KnownProvider(spec); isKnown {
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
		names := append(c.ProviderNames(), OfflineProvider)
		return Choice{}, "provider " + quote(provider) + " is neither configured under providers nor known" + DidYouMean(provider, names)
	}
	return Choice{Provider: provider, Model: model, Settings: settings}, ""
}
