package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/cmd/internal/secrets"
	"dragoman/configs"
	"dragoman/core/inference"
	"dragoman/core/llm"
	"dragoman/core/llm/offline"
)

// Finder finds models for agents: those of the configuration's providers, of providers that need
// only a key, and the offline demo.
type Finder struct {
	Choice configs.Choice // the default

	registry *llm.Registry
	offers   *Offers // nil: no service is asked
	services []service
	fallback []string         // models to ask if another cannot answer
	broken   map[string]error // the error in unusable settings, by provider
}

// Options are the sources of models other than the configuration.
type Options struct {
	Env      configs.Env
	Given    configs.Logins
	GivenRev func(provider string) string // changes with the given key; nil: keys do not change
	KeyFile  string                       // the configuration file, named in advice on writing a key
	Offers   *Offers                      // the models that services offer; nil: none
	Lends    llm.Sampler                  // clients that lend their models; nil: none
	Before   []*Finder                    // finders in use, which share their providers' limits; the replaced one first
}

// New returns the models of a configuration. It reads variables and files that settings refer to,
// and the kept lists of services, and never uses the network.
func New(c *configs.Config, o Options) *Finder {
	env, given := o.Env, o.Given
	if file, ok := given.(*secrets.Logins); ok {
		o.Given = file.Look() // for all questions below; a request looks for itself
	}
	m := &Finder{Choice: c.ChooseModel(env, o.Given), offers: o.Offers, fallback: c.Fallback, broken: map[string]error{}}
	known := knownModels(c, m.Choice, env, o.Given)
	demo := offline.Config{KeyFile: o.KeyFile}
	var providers []llm.Provider
	run := secrets.NewPrograms().Run
	for _, name := range c.ProviderNames() {
		if c.Disabled(name) {
			m.broken[name] = errors.New("the editor has taken the provider out of use")
			continue
		}
		p, err := newProvider(c, o, given, run, name)
		if err != nil {
			m.broken[name] = err
			continue
		}
		var offered []inference.ModelInfo
		if s, ok := serviceOf(c, o, p, len(known[name]) > 0 || m.fallsBackTo(name)); ok && o.Offers != nil {
			s.models = o.Offers.models(s.key)
			m.services = append(m.services, s)
			offered = infosOf(s.models)
		}
		p.Models, p.Own = described(known[name], offered), ownModels(c, name, offered)
		providers = append(providers, p)
	}
	for _, k := range configs.KnownProviders() {
		if !k.Local() {
			demo.Wanted = append(demo.Wanted, offline.Wanted{Provider: k.Name, Variables: k.Keys})
		}
	}
	config := llm.Config{Providers: providers, Offline: offline.New(demo), Sampler: o.Lends}
	for _, before := range o.Before {
		config.Before = append(config.Before, before.registry)
	}
	m.registry = llm.New(config)
	return m
}

// fallsBackTo reports whether a provider has a model that is asked if another cannot answer.
func (m *Finder) fallsBackTo(provider string) bool {
	return slices.ContainsFunc(m.fallback, func(id string) bool { return strings.HasPrefix(id, provider+"/") })
}

// described lists the known models of a provider, with the descriptions of those that its service
// offers, and then the other ones that it offers.
func described(known, offered []inference.ModelInfo) []inference.ModelInfo {
	list := slices.Clone(known)
	for _, o := range offered {
		i := slices.IndexFunc(list, func(k inference.ModelInfo) bool { return k.ID == o.ID })
		if i < 0 {
			list = append(list, o)
			continue
		}
		list[i] = o
	}
	return list
}

// Close closes the connections to models.
func (m *Finder) Close() { m.registry.Close() }

// newProvider fills in a provider's address and headers. Its key is looked up with each request,
// and so is a header that a program prints: run runs it. given are the keys for that.
func newProvider(
	c *configs.Config,
	o Options,
	given configs.Logins,
	run configs.Run,
	name string,
) (llm.Provider, error) {
	p, _ := c.Provider(name)
	env := o.Env
	address, err := p.BaseURL.Resolve(env)
	if err != nil {
		return llm.Provider{}, err
	}
	headers, late := map[string]string{}, map[string]configs.Secret{}
	for header, secret := range p.Headers {
		if secret.RunsProgram() {
			late[header] = secret
			continue
		}
		if headers[header], err = secret.Resolve(env); err != nil {
			return llm.Provider{}, err
		}
	}
	options := map[string]string{}
	for option, secret := range p.Options {
		if options[option], err = secret.Resolve(env); err != nil {
			return llm.Provider{}, err
		}
	}
	var lateHeaders func(context.Context) (map[string]string, error)
	if len(late) > 0 {
		lateHeaders = func(ctx context.Context) (map[string]string, error) {
			resolved, err := configs.ResolveSecrets(ctx, late, env, run)
			return resolved, keyError(err)
		}
	}
	return llm.Provider{
		Name:    name,
		Kind:    p.Kind,
		BaseURL: address,
		Headers: headers,
		Options: options,
		KeyHint: keyHint(c, env, o.Given, name, o.KeyFile),
		Key: func(ctx context.Context) (string, error) {
			key, err := c.Key(ctx, name, env, given, run)
			return key, keyError(err)
		},
		LateHeaders: lateHeaders,
		Concurrent:  p.MaxConcurrent,
		PerMinute:   p.RequestsPerMinute,
	}, nil
}

// keyError returns the error of a key or a header that cannot be had.
func keyError(err error) error {
	if none := (*configs.NoKeyError)(nil); err == nil || errors.As(err, &none) {
		return err
	}
	return fmt.Errorf("the key could not be read: %w", err)
}

// keyHint returns advice for a key that the service refuses.
func keyHint(c *configs.Config, env configs.Env, given configs.Logins, name, keyFile string) string {
	setting := "providers." + name + ".api_key in " + keyFile
	login := "\"dragoman login " + name + "\""
	switch source, variable := c.KeySource(name, env, given); source {
	case configs.KeyGiven:
		return "The key is the one that was given with " + login + " or /login; giving another one replaces it."
	case configs.KeyConfigured:
		return "The key comes from " + setting + "."
	case configs.KeyInEnv:
		return "The key comes from " + variable + " in the environment."
	}
	if c.Directed(name) {
		return "" // none of our keys is sent there
	}
	return "Run " + login + ", or set " + setting + "."
}

// ownModels returns the models of a provider as the user describes them; missing properties are
// those of the catalogue, and those that the service gives.
func ownModels(c *configs.Config, provider string, offered []inference.ModelInfo) []inference.ModelInfo {
	var list []inference.ModelInfo
	entries := c.Providers[provider].Models
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e, info := entries[name], llm.Known(provider, name)
		for _, o := range offered {
			if o.ID == info.ID && info.Window == 0 { // unknown to the catalogue
				info = o
			}
		}
		info.Name, info.Window, info.MaxOut = cmp.Or(e.Name, info.Name), cmp.Or(e.ContextWindow, info.Window), cmp.Or(e.MaxOutput, info.MaxOut)
		if len(e.Can) > 0 {
			info.Tools, info.Images, info.Thinks = slices.Contains(e.Can, "tools"), slices.Contains(e.Can, "images"), slices.Contains(e.Can, "thinks")
		}
		switch {
		case len(e.Efforts) > 0:
			info.Efforts, info.Thinks = e.Efforts, true
		case !info.Thinks:
			info.Efforts = nil
		case info.Efforts == nil:
			info.Efforts = []string{"low", "medium", "high"}
		}
		if p := e.KnownPrice(); p != nil {
			info.Price = &inference.Price{
				In:         p.Input,
				Out:        p.Output,
				CacheRead:  p.CacheRead,
				CacheWrite: p.CacheWrite,
			}
		}
		list = append(list, info)
	}
	return list
}

// knownModels lists by provider the models that can be offered: the chosen one, the usual one of
// each provider that has a key, those of agents, and all others known of providers that have a
// key. Without any key nothing is searched.
func knownModels(
	c *configs.Config,
	choice configs.Choice,
	env configs.Env,
	given configs.Logins,
) map[string][]inference.ModelInfo {
	known := map[string][]inference.ModelInfo{}
	add := func(provider, model string) {
		info := inference.ModelInfo{ID: provider + "/" + model, Tools: true, Images: true}
		same := func(have inference.ModelInfo) bool { return have.ID == info.ID }
		if provider != configs.OfflineProvider && !c.Disabled(provider) &&
			!slices.ContainsFunc(known[provider], same) {
			known[provider] = append(known[provider], info)
		}
	}
	add(choice.Provider, choice.Model)
	for _, l := range choice.Places {
		for _, k := range configs.KnownProviders() {
			if l.Found && k.Name == l.Provider {
				add(k.Name, k.Model)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if a, err := c.FindModel(c.Agents[name].Model); err == nil {
			add(a.Provider, a.Model)
		}
	}
	for _, name := range c.ProviderNames() {
		if source, _ := c.KeySource(name, env, given); source == "" && !c.Directed(name) {
			continue
		}
		for _, info := range llm.Catalogue(name) {
			if info.Tools {
				add(name, info.ID)
			}
		}
	}
	return known
}

// Infos lists the models that can be offered, the chosen one first.
func (m *Finder) Infos() []inference.ModelInfo {
	infos := m.registry.Infos()
	first := func(i inference.ModelInfo) int {
		if i.ID == m.Choice.String() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(infos, func(a, b inference.ModelInfo) int { return first(a) - first(b) })
	return infos
}

// Of returns the function that finds an agent's model: the requested one, else its own, else that
// of the configuration.
func (m *Finder) Of(own string) func(context.Context, string) (inference.Model, error) {
	return func(_ context.Context, id string) (inference.Model, error) {
		switch {
		case id != "":
		case own != "":
			id = own
		default:
			id = m.Choice.String()
		}
		first, err := m.named(id)
		if err != nil {
			return nil, err
		}
		var others []inference.Model
		for _, spec := range m.fallback {
			if other, err := m.named(spec); err == nil && spec != id {
				others = append(others, other)
			}
		}
		return llm.Fallback(first, others...), nil
	}
}

// named finds a model by PROVIDER/MODEL.
func (m *Finder) named(id string) (inference.Model, error) {
	provider, _, _ := strings.Cut(id, "/")
	if err := m.broken[provider]; err != nil {
		return nil, fmt.Errorf("model %q: %w", id, err)
	}
	return m.registry.Model(id)
}
