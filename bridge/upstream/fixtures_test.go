package upstream

import (
	"context"
	"testing"

	"dragoman/bridge/bridgetest"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// at returns the endpoint of a test server.
func at(p bridgetest.Place) func(context.Context) (Endpoint, error) {
	e := Endpoint{Command: p.Command, Args: p.Args, Env: p.Env, URL: p.URL, Headers: p.Headers, SSE: p.SSE}
	return func(context.Context) (Endpoint, error) { return e, nil }
}

// plays returns the endpoint of a test program.
func plays(role string, env ...string) func(context.Context) (Endpoint, error) {
	return at(bridgetest.Program(role, env...))
}

// ways lists the transports and eras of the SDK's server.
func ways(t *testing.T) map[string]Server {
	t.Helper()
	all := map[string]Server{}
	for name, place := range bridgetest.Ways(t) {
		all[name] = Server{Name: "up", Endpoint: at(place)}
	}
	return all
}
