package llm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"dragoman/core/inference"
)

// The kinds of providers: wire formats.
const (
	KindOpenAIChat      = "openai-chat"      // OpenAI's chat completions, which most services offer
	KindOpenAIResponses = "openai-responses" // OpenAI's responses: they include reasoning
	KindAnthropic       = "anthropic"        // Anthropic's messages
	KindOllama          = "ollama"           // Ollama's own
)

// kind is a row of the table of kinds: a wire format, or a function that opens a model of a
// provider in another way.
type kind struct {
	name string
	wire wire
	open func(r *Registry, p *provider, model string) (inference.Model, error)
}

// kinds returns the table of all kinds.
func kinds() []kind {
	list := []kind{
		{name: KindOpenAIChat, wire: chatWire{}},
		{name: KindOpenAIResponses, wire: responsesWire{}},
		{name: KindAnthropic, wire: messagesWire{}},
		{name: KindAzure, wire: azureWire{}},
		{name: KindOllama, wire: ollamaWire{}},
		{name: KindCohere, open: openCohere},
		{name: KindReplay, open: openReplay},
		{name: KindSampling, open: openSampling},
	}
	return append(list, chainKinds()...)
}

// kindOf finds a kind by its name.
func kindOf(name string) (kind, bool) {
	for _, k := range kinds() {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

// Kinds lists the names of the kinds.
func Kinds() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Provider is a service that offers models, as plain data.
type Provider struct {
	Name    string // the part of a model's id before the first slash
	Kind    string
	BaseURL string // with the version, e.g. https://api.openai.com/v1
	// Key returns the key. It is called for each request, not before; nil or an empty
	// key: the service needs none. Its error is for the user, and says what to do.
	Key func(context.Context) (string, error)
	// KeyHint is a sentence for the user with the source of the key, such as a
	// variable or a file. It is shown when the service refuses the key.
	KeyHint string
	// Concurrent limits the requests that run at once, and PerMinute those that are sent
	// within a minute; 0: no limit. A request that has to wait yields a DeltaRetry, whose
	// After is 0 if the time is unknown.
	Concurrent, PerMinute int

	Options map[string]string // further options of kinds behind langchaingo, such as account_id
	Headers map[string]string // sent with each request, instead of ours with the same name
	// LateHeaders returns further ones. It is called when Key is; nil: there are none.
	LateHeaders func(context.Context) (map[string]string, error)
	// Models describes the known models. ID is PROVIDER/MODEL or only MODEL. Other
	// models can be used as well.
	Models []inference.ModelInfo
	// Own are the models that the user describes, in the same form: other descriptions
	// of them do not count.
	Own []inference.ModelInfo
}

// Config configures a Registry.
type Config struct {
	Providers []Provider
	// Offline needs no provider and is found by its id; nil: there is none.
	Offline inference.Model
	// Sampler is for the kind mcp-sampling; nil: MCP clients drive no session.
	Sampler Sampler
	// Transport carries the requests; nil: one of our own, made at the first request.
	Transport http.RoundTripper
	// Before are the registries in use, first the one that this replaces: a provider
	// that one of them also has shares its limits and its experience.
	Before []*Registry
}

// Registry finds models by name. It is immutable and safe for concurrent use.
type Registry struct {
	providers []*provider
	offline   inference.Model
	sampler   Sampler
	client    func() *http.Client
}

// provider is a Provider in use.
type provider struct {
	Provider
	client func() *http.Client
	pasts  *pastCache
	heads  heads
	forms  forms
	*experience
}

// experience is the knowledge gained by using a provider. It outlives a Registry.
type experience struct {
	gate      *gate
	traits    traits     // that were refused
	played    replaySeen // of the kind replay
	recording recording  // of the option record
}

// New makes a Registry. Nothing is checked, resolved or opened before a model is
// requested. Of several providers with the same name the last counts.
func New(c Config) *Registry {
	r := &Registry{offline: c.Offline, sampler: c.Sampler}
	r.client = sync.OnceValue(func() *http.Client {
		rt := c.Transport
		if rt == nil {
			rt = newTransport()
		}
		return newClient(rt)
	})
	kept := newPastCache()
	for _, p := range c.Providers {
		r.providers = slices.DeleteFunc(r.providers, func(q *provider) bool { return q.Name == p.Name })
		np := &provider{
			Provider:   p,
			client:     r.client,
			pasts:      kept,
			experience: experienceOf(c.Before, p),
		}
		r.providers = append(r.providers, np)
	}
	return r
}

// experienceOf returns the experience of the same provider, or a new one. A key from
// another source may belong to another account.
func experienceOf(before []*Registry, p Provider) *experience {
	for _, r := range before {
		for _, q := range r.providers {
			if q.Name == p.Name && q.Kind == p.Kind && q.BaseURL == p.BaseURL && q.KeyHint == p.KeyHint &&
				q.Concurrent == p.Concurrent && q.PerMinute == p.PerMinute && maps.Equal(q.Options, p.Options) {
				return q.experience
			}
		}
	}
	return &experience{gate: newGate(p.Concurrent, p.PerMinute)}
}

// Model finds a model by PROVIDER/MODEL. The model's name may contain slashes and need
// not be known. The offline one is found even if a provider has its name.
func (r *Registry) Model(id string) (inference.Model, error) {
	name, model, ok := strings.Cut(id, "/")
	if !ok || name == "" || model == "" {
		return nil, fmt.Errorf("model %q: want PROVIDER/MODEL, with one of the providers %s", id, r.names())
	}
	if r.offline != nil && id == r.offline.Info().ID {
		return r.offline, nil
	}
	i := slices.IndexFunc(r.providers, func(p *provider) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("model %q: there is no provider %q; there are %s", id, name, r.names())
	}
	p := r.providers[i]
	m, err := r.model(p, model)
	if err == nil && p.Options["record"] != "" {
		return &recorder{m, p}, nil
	}
	return m, err
}

// model makes a model of a provider.
func (r *Registry) model(p *provider, model string) (inference.Model, error) {
	k, ok := kindOf(p.Kind)
	switch {
	case !ok:
		return nil, fmt.Errorf(
			"model %q: provider %q is of the kind %q; known are %s",
			p.Name+"/"+model,
			p.Name,
			p.Kind,
			strings.Join(Kinds(), ", "),
		)
	case k.open != nil:
		return k.open(r, p, model)
	}
	u, err := url.Parse(p.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, p.badURL(model)
	}
	return newRemote(p, u, model, k.wire), nil
}

func (p *provider) badURL(model string) error {
	return fmt.Errorf(
		"model %q: base_url of provider %q: want a URL that begins with http:// or https://",
		p.Name+"/"+model,
		p.Name,
	)
}

// Infos describes the known models: the configured ones in their order, then the
// offline one.
func (r *Registry) Infos() []inference.ModelInfo {
	var infos []inference.ModelInfo
	for _, p := range r.providers {
		seen := map[string]bool{}
		for _, m := range slices.Concat(p.Own, p.Models) {
			if name := p.short(m); !seen[name] {
				seen[name] = true
				infos = append(infos, p.info(name))
			}
		}
	}
	if r.offline != nil {
		infos = append(infos, r.offline.Info())
	}
	return infos
}

// Close closes idle connections. Answers that are still streaming continue.
func (r *Registry) Close() { r.client().CloseIdleConnections() }

func (r *Registry) names() string {
	var names []string
	if r.offline != nil {
		names = append(names, r.offline.Info().Provider)
	}
	for _, p := range r.providers {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// info describes a model: as configured, else as in the catalogue. An unknown model is
// assumed to accept tools and images, because its service reports an error otherwise.
func (p *provider) info(model string) inference.ModelInfo {
	info, found := known(p.Name, model)
	if !found {
		info = unknown
	}
	for _, m := range p.Models {
		if p.short(m) == model {
			info = configured(info, m, found)
		}
	}
	for _, m := range p.Own {
		if p.short(m) == model {
			info = m
		}
	}
	if _, chained := links()[strings.TrimPrefix(p.Kind, KindChain)]; chained { // limited to what the library supports
		info.Tools, info.Images, info.Thinks, info.Efforts = false, false, false, nil
	}
	info.ID, info.Provider = p.Name+"/"+model, p.Name
	info.Name = cmp.Or(info.Name, model)
	return info
}

// short returns a model's name at its provider.
func (p *provider) short(m inference.ModelInfo) string { return strings.TrimPrefix(m.ID, p.Name+"/") }

// configured returns info with the configured values in m in place of its own.
func configured(info, m inference.ModelInfo, found bool) inference.ModelInfo {
	if info.Tools = m.Tools; !found {
		info.Images, info.Thinks = m.Images, m.Thinks
	}
	info.Name, info.Window, info.MaxOut = cmp.Or(m.Name, info.Name),
		cmp.Or(m.Window, info.Window), cmp.Or(m.MaxOut, info.MaxOut)
	if m.Efforts != nil {
		info.Efforts = m.Efforts
	}
	if m.Price != nil {
		info.Price = m.Price
	}
	return info
}
