package aggregate

import (
	"context"
	"testing"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// at is the endpoint of a server of the tests.
func at(p bridgetest.Place) func(context.Context) (upstream.Endpoint, error) {
	e := upstream.Endpoint{Command: p.Command, Args: p.Args, Env: p.Env, URL: p.URL, Headers: p.Headers, SSE: p.SSE}
	return func(context.Context) (upstream.Endpoint, error) { return e, nil }
}

// plays is the endpoint of a program of the tests.
func plays(role string, env ...string) func(context.Context) (upstream.Endpoint, error) {
	return at(bridgetest.Program(role, env...))
}

// ways are the transports and eras that the SDK's server is reached by.
func ways(t *testing.T) map[string]upstream.Server {
	t.Helper()
	all := map[string]upstream.Server{}
	for name, place := range bridgetest.Ways(t) {
		all[name] = upstream.Server{Name: "up", Endpoint: at(place)}
	}
	return all
}
