package upstream

import (
	"os"
	"testing"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
)

// A session has one guard for all of its servers. When the last server ends, the guard ends with
// all processes that the servers have left behind.
func TestOneGuardForAllServers(t *testing.T) {
	bridgetest.OneGuard(t, 2, func(t *testing.T, places []bridgetest.Place, look func()) {
		servers := []Server{{Name: "up", Endpoint: at(places[0])}, {Name: "down", Endpoint: at(places[1])}}
		box := New(Options{Servers: servers, Environ: os.Environ(), Wait: bridgetest.Patience})
		opened, err := box.Open(t.Context(), trialHost{core.Meta{ID: "s"}})
		if err != nil {
			t.Fatal(err)
		}
		if tools, err := listed(bridgetest.Patient(t), opened); err != nil || len(tools) < 2 {
			t.Errorf("%d tools, %v", len(tools), err)
		}
		look()
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
}
