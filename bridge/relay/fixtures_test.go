package relay

import (
	"context"
	"testing"

	"dragoman/bridge"
	"dragoman/bridge/bridgetest"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// at is the endpoint of a server of the tests.
func at(p bridgetest.Place) func(context.Context) (bridge.Endpoint, error) {
	e := bridge.Endpoint{Command: p.Command, Args: p.Args, Env: p.Env, URL: p.URL, Headers: p.Headers, SSE: p.SSE}
	return func(context.Context) (bridge.Endpoint, error) { return e, nil }
}

// plays is the endpoint of a program of the tests.
func plays(role string, env ...string) func(context.Context) (bridge.Endpoint, error) {
	return at(bridgetest.Program(role, env...))
}

// ways are the transports and eras that the SDK's server is reached by.
func ways(t *testing.T) map[string]bridge.Server {
	t.Helper()
	all := map[string]bridge.Server{}
	for name, place := range bridgetest.Ways(t) {
		all[name] = bridge.Server{Name: "up", Endpoint: at(place)}
	}
	return all
}
