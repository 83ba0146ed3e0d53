package acp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/adapters/acp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/coretest"
)

// directory is Providers with one entry.
type directory struct {
	p       acp.Provider
	headers map[string]string
}

func (d *directory) List(context.Context) []acp.Provider { return []acp.Provider{d.p, {ID: "off"}} }

func (d *directory) Set(_ context.Context, id, apiType, baseURL string, headers map[string]string) error {
	if id != d.p.ID {
		return errors.New("there is no such provider")
	}
	d.p.Type, d.p.BaseURL, d.headers = apiType, baseURL, headers
	return nil
}

func (d *directory) Disable(_ context.Context, id string) error {
	if d.p.Required {
		return errors.New("it is needed")
	}
	return nil
}

// A client directs requests to models; its headers are never shown again.
func TestProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), nil, false)
		in, out, peer := wiretest.New(wire.Newline)
		served := make(chan error, 1)
		d := &directory{p: acp.Provider{ID: "house", Types: []string{"openai"}, Required: true, Type: "openai", BaseURL: "https://a.example/v1"}}
		go func() {
			served <- acp.New(acp.Options{Gateway: g, Principal: core.Local, Providers: d}).Serve(t.Context(), in, out)
		}()
		got, err := peer.Play(strings.Join([]string{
			`-> ` + hello,
			`-> {"jsonrpc":"2.0","id":2,"method":"providers/list","params":{}}`, ``,
			`-> {"jsonrpc":"2.0","id":3,"method":"providers/set","params":{"providerId":"house","apiType":"openai","baseUrl":"http://localhost:1","headers":{"Authorization":"secret"}}}`, ``,
			`-> {"jsonrpc":"2.0","id":4,"method":"providers/list"}`, ``,
			`-> {"jsonrpc":"2.0","id":5,"method":"providers/disable","params":{"providerId":"house"}}`, ``,
			`-> {"jsonrpc":"2.0","id":6,"method":"providers/set","params":{"providerId":"none","apiType":"openai","baseUrl":"x"}}`, ``,
		}, "\n"), synctest.Wait)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`"providers":{}`,
			`"id":2,"result":{"providers":[{"providerId":"house","supported":["openai"],"required":true,"current":{"apiType":"openai","baseUrl":"https://a.example/v1"}},{"providerId":"off","supported":[],"required":false}]}`,
			`"id":3,"result":{}`, `"baseUrl":"http://localhost:1"}`,
			`"id":5,"error":{"code":-32602,"message":"provider \"house\": it is needed"}`, `"id":6,"error":{"code":-32602`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("lacks %s:\n%s", want, got)
			}
		}
		if d.headers["Authorization"] != "secret" || strings.Contains(got[strings.Index(got, `"id":4`):], "secret") {
			t.Errorf("the headers are %v:\n%s", d.headers, got)
		}
		peer.Hangup()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
