package configs

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// Direct returns the configuration with another address for a provider, another wire format and
// other headers. None of our keys is sent there. The texts are taken literally and contain no
// references.
func (c *Config) Direct(provider, kind, baseURL string, headers map[string]string) (*Config, error) {
	if !slices.Contains(DirectKinds(), kind) {
		return nil, errors.New("the wire format must be " + oneOf(DirectKinds()) + ", got " + quote(kind))
	}
	if wrong := badURL(baseURL); wrong != "" {
		return nil, errors.New("the address " + wrong)
	}
	p := c.Providers[provider]
	p.Kind, p.BaseURL, p.APIKey = kind, NewURL(Literal(baseURL)), Secret{}
	p.Headers, p.place = map[string]Secret{}, placeDirected
	for name, value := range headers {
		if wrong := badName("header", name); wrong != "" || strings.ContainsAny(value, "\r\n\x00") {
			return nil, errors.New("the header " + quote(name) + " cannot be sent")
		}
		p.Headers[name] = NewSecret(Literal(value))
	}
	return c.with(provider, p), nil
}

// Without returns the configuration with a provider disabled.
func (c *Config) Without(provider string) *Config {
	p := c.Providers[provider]
	p.place = placeNone
	return c.with(provider, p)
}

// Directed reports whether a provider was set by Direct, and Disabled whether it was set by
// Without.
func (c *Config) Directed(provider string) bool { return c.Providers[provider].place == placeDirected }

// Disabled reports whether a provider must not be used; see Directed.
func (c *Config) Disabled(provider string) bool { return c.Providers[provider].place == placeNone }

// with returns a copy in which the name has another provider.
func (c *Config) with(name string, p Provider) *Config {
	other := *c
	other.Providers = maps.Clone(c.Providers)
	if other.Providers == nil {
		other.Providers = map[string]Provider{}
	}
	other.Providers[name] = p
	return &other
}

// placement is the source of a provider's address.
type placement byte

const (
	placeConfigured placement = iota
	placeDirected             // a connected client
	placeNone                 // it must not be used
)

// Literal escapes a text for a configuration, so that nothing in it is a reference.
func Literal(s string) string { return strings.ReplaceAll(s, "${", "$${") }
