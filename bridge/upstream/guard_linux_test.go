package upstream

import (
	"os"
	"testing"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
	"dragoman/core/child/childtest"
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

// When a server ends, its daemons end too, but no process of the session's other servers.
func TestCloseEndsDaemons(t *testing.T) {
	guard := guarding(t)
	var odds []string
	var servers []*process
	for range 2 {
		odd := childtest.OddSleep()
		t.Cleanup(func() { childtest.Wake(t, odd) })
		p, err := command{path: "sh", args: []string{"-c", "setsid -f sleep " + odd + "; cat"}, env: os.Environ(), guard: guard}.start()
		if err != nil {
			t.Fatal(err)
		}
		childtest.Soon(t, "the daemon runs", func() bool { return len(childtest.Asleep(t, odd)) == 1 })
		odds, servers = append(odds, odd), append(servers, p)
	}
	servers[0].close()
	if gone, left := childtest.Asleep(t, odds[0]), childtest.Asleep(t, odds[1]); len(gone) != 0 || len(left) != 1 {
		t.Errorf("of the one that has ended %v are left, of the other one %v", gone, left)
	}
	servers[1].close()
	if left := childtest.Asleep(t, odds[1]); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
