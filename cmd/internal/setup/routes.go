package setup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/adapters/acp"
	"dragoman/configs"
	"dragoman/core/display"
)

// route is the address that a client sets for a provider; the zero value: the provider is
// disabled. It holds until the process ends and is not stored.
type route struct {
	kind, url string
	headers   map[string]string
}

// directed applies routes to a configuration. They were checked when they were set.
func directed(c *configs.Config, routes map[string]route) *configs.Config {
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		r := routes[name]
		if r.kind == "" {
			c = c.Without(name)
		} else if other, err := c.Direct(name, r.kind, r.url, r.headers); err == nil {
			c = other
		}
	}
	return c
}

// Providers returns the providers of models, whose addresses a client may set.
func (c *Client) Providers() acp.Providers { return routing{c} }

// routing implements acp.Providers.
type routing struct{ c *Client }

var _ acp.Providers = routing{}

// typeOf returns the protocol's name of a wire format.
func typeOf(kind string) string {
	switch kind {
	case configs.KindOpenAIChat:
		return "openai"
	case configs.KindAnthropic:
		return kind
	}
	return "_" + kind
}

// List implements acp.Providers.
func (r routing) List(context.Context) []acp.Provider {
	made, err := r.c.Load()
	if err != nil {
		return nil
	}
	var types []string
	for _, kind := range configs.DirectKinds() {
		types = append(types, typeOf(kind))
	}
	var list []acp.Provider
	for _, name := range made.Config.ProviderNames() {
		is := acp.Provider{ID: name, Types: types, Required: r.required(made, name)}
		settings, _ := made.Config.Provider(name)
		if !made.Config.Disabled(name) &&
			made.Config.CheckKey(name, r.c.process.env.Lookup, r.c.process.logins) == nil {
			is.Type, is.BaseURL = typeOf(settings.Kind), settings.BaseURL.String()
		}
		list = append(list, is)
	}
	return list
}

// required reports whether a provider is that of the model in use, and not only because the
// client has directed it.
func (r routing) required(made *Profile, name string) bool {
	if made.Finder.Choice.Provider != name || !made.Config.Directed(name) {
		return made.Finder.Choice.Provider == name
	}
	return made.Config.Without(name).ChooseModel(r.c.process.env.Lookup, r.c.process.logins).Provider == name
}

// Set implements acp.Providers.
func (r routing) Set(_ context.Context, id, apiType, baseURL string, headers map[string]string) error {
	made, err := r.c.Load()
	if err != nil {
		return err
	}
	if _, ok := made.Config.Provider(id); !ok {
		return errors.New("there is no such provider; there are " + strings.Join(made.Config.ProviderNames(), ", "))
	}
	kinds := configs.DirectKinds()
	i := slices.IndexFunc(kinds, func(kind string) bool { return typeOf(kind) == apiType })
	if i < 0 {
		return fmt.Errorf("it cannot be spoken to as %q", display.Line(apiType, 60))
	}
	if _, err := made.Config.Direct(id, kinds[i], baseURL, headers); err != nil {
		return err
	}
	return r.set(id, route{kinds[i], baseURL, maps.Clone(headers)})
}

// Disable implements acp.Providers.
func (r routing) Disable(_ context.Context, id string) error {
	made, err := r.c.Load()
	if err != nil {
		return err
	}
	if _, ok := made.Config.Provider(id); !ok {
		return nil
	}
	if r.required(made, id) {
		return fmt.Errorf("the model in use, %s, is one of its models; choose another one first", made.Finder.Choice)
	}
	return r.set(id, route{})
}

// set applies a route at once.
func (r routing) set(id string, to route) error {
	r.c.route(id, to)
	_, err := r.c.Load()
	return err
}
