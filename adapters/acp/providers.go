package acp

import (
	"context"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
)

// Providers is where models are reached, as a client may direct it: through a proxy
// of its own, with its own keys. What is set holds for as long as the process lives
// and is written nowhere. Methods may be called by any goroutine.
type Providers interface {
	// List tells of every provider that can be directed.
	List(context.Context) []Provider
	// Set directs a provider; headers are sent with every request to it, and may hold
	// keys. The error is the client's: there is no such provider, or no such type.
	Set(ctx context.Context, id, apiType, baseURL string, headers map[string]string) error
	// Disable takes a provider out of use; no error if there is none. The error is
	// the client's.
	Disable(ctx context.Context, id string) error
}

// Provider is one of them. Types are the wire formats that it can be spoken to in:
// anthropic, openai, or another one that begins with "_". Without a Type it is not
// in use; Required says that it cannot be taken out of use.
type Provider struct {
	ID       string
	Types    []string
	Required bool
	Type     string
	BaseURL  string
}

// providerMethods are there only where providers can be directed.
func (s *Server) providerMethods(ctx context.Context) wire.Methods {
	if s.opts.Providers == nil {
		return nil
	}
	return wire.Methods{
		"providers/list":    wire.Async(later(s, ctx, s.listProviders)),
		"providers/set":     wire.Async(later(s, ctx, s.setProvider)),
		"providers/disable": wire.Async(later(s, ctx, s.disableProvider)),
	}
}

func (s *Server) listProviders(ctx context.Context, call *wire.Call, _ struct{}) error {
	res := acp.ProvidersResponse{Providers: []acp.ProviderInfo{}}
	for _, p := range s.opts.Providers.List(ctx) {
		info := acp.ProviderInfo{ProviderID: p.ID, Supported: append([]string{}, p.Types...), Required: p.Required}
		if p.Type != "" {
			info.Current = &acp.ProviderConfig{APIType: p.Type, BaseURL: p.BaseURL}
		}
		res.Providers = append(res.Providers, info)
	}
	call.Reply(res, nil)
	return nil
}

func (s *Server) setProvider(ctx context.Context, call *wire.Call, p acp.SetProviderRequest) error {
	if err := s.opts.Providers.Set(ctx, p.ProviderID, p.APIType, p.BaseURL, p.Headers); err != nil {
		return jrpc2.Errorf(jrpc2.InvalidParams, "provider %.60q: %v", p.ProviderID, err)
	}
	call.Reply(acp.Marker{}, nil)
	return nil
}

func (s *Server) disableProvider(ctx context.Context, call *wire.Call, p acp.DisableProviderRequest) error {
	if err := s.opts.Providers.Disable(ctx, p.ProviderID); err != nil {
		return jrpc2.Errorf(jrpc2.InvalidParams, "provider %.60q: %v", p.ProviderID, err)
	}
	call.Reply(acp.Marker{}, nil)
	return nil
}
