package bridge

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/core"
	"dragoman/core/child/childtest"
)

// withDaemon is a server of the SDK's that leaves a daemon behind as it starts.
func withDaemon(t *testing.T, name, seconds string) Server {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { childtest.Wake(t, seconds) })
	return Server{Name: name, Endpoint: func(ctx context.Context) (Endpoint, error) {
		e, err := plays("sdk")(ctx)
		line := "setsid -f sleep " + seconds + ` </dev/null >/dev/null 2>&1; exec "$0" "$@"`
		e.Command, e.Args = "sh", append([]string{"-c", line, e.Command}, e.Args...)
		return e, err
	}}
}

// However clients reach servers, each client and each session has one guard for all of
// its servers. When the last server ends, the guard ends with all that the servers have
// left behind.
func TestOneGuardForAllServers(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, servers []Server, look func()){
		"a session": func(t *testing.T, servers []Server, look func()) {
			box := New(Options{Servers: servers, Environ: os.Environ(), Grace: bridgetest.Patience})
			opened, err := box.Open(t.Context(), alone{core.Meta{ID: "s"}})
			if err != nil {
				t.Fatal(err)
			}
			if tools, err := opened.Tools(bridgetest.Patient(t)); err != nil || len(tools) < 2 {
				t.Errorf("%d tools, %v", len(tools), err)
			}
			look()
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		},
		"an aggregate over a pipe": func(t *testing.T, servers []Server, look func()) {
			bridgetest.ToolNames(t, bridgetest.Connected(t, piped(t, aggregate(t, Options{Servers: servers}, AggregateOptions{})), proto.Legacy, nil))
			look()
		},
		"an aggregate over HTTP": func(t *testing.T, servers []Server, look func()) {
			bridgetest.ToolNames(t, bridgetest.Connected(t, overHTTP(t, aggregate(t, Options{Servers: servers}, AggregateOptions{})), proto.Legacy, nil))
			look()
		},
		"a relay over a pipe": func(t *testing.T, servers []Server, look func()) { byRelay(t, "pipe", servers[0], look) },
		"a relay over HTTP":   func(t *testing.T, servers []Server, look func()) { byRelay(t, "http", servers[0], look) },
	} {
		t.Run(name, func(t *testing.T) {
			odd := childtest.OddSleep()
			servers := []Server{withDaemon(t, "up", odd)}
			if !strings.Contains(name, "relay") {
				servers = append(servers, withDaemon(t, "down", odd))
			}
			t.Run("use", func(t *testing.T) {
				use(t, servers, func() {
					childtest.Soon(t, "all daemons run", func() bool { return len(childtest.Asleep(t, odd)) == len(servers) })
					if list := childtest.Guards(t, os.Getpid()); len(list) != 1 {
						t.Errorf("guards %v", list)
					}
				})
			})
			childtest.Soon(t, "nothing is left", func() bool {
				return len(childtest.Asleep(t, odd)) == 0 && len(childtest.Guards(t, os.Getpid())) == 0
			})
		})
	}
}

func byRelay(t *testing.T, face string, s Server, look func()) {
	bridgetest.ToolNames(t, bridgetest.Connected(t, faces[face](t, relayTo(t, s, nil)), proto.Legacy, &mcp.ClientOptions{}))
	look()
}

// A server that ends takes its daemons along, and nothing of the others of its session.
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
