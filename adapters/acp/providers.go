package acp

import (
	"context"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
)

// Providers lets a client direct the requests to model providers: through a proxy of its own,
// with its own keys. The settings hold for the life of the process and are written nowhere. Any
// goroutine may call the methods.
type Providers interface {
	// List returns every provider that can be directed.
	List(context.Context) []Provider
	// Set directs a provider; headers are sent with every request to it, and may hold keys. An
	// error is the client's fault: an unknown provider or type.
	Set(ctx context.Context, id, apiType, baseURL string, headers map[string]string) error
	// Disable takes a provider out of use; an unknown one is not an error. An error is the
	// client's fault.
	Disable(ctx context.Context, id string) error
}

// Provider describes one provider. Types are the wire formats that it accepts: anthropic, openai,
// or another one that begins with "_". Without a Type it is not in use. Required means that it
// cannot be taken out of use.
type Provider struct {
	ID       string
	Types    []string
	Required bool
	Type     string
	BaseURL  string
}

// providerMethods returns the methods that exist only if providers can be directed.
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
		info := acp.ProviderInfo{
			ProviderID: p.ID,
			Supported:  append([]string{}, p.Types...),
			Required:   p.Required,
		}
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
