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
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/gate"
	"dragoman/adapters/mcp"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/aggregate"
	"dragoman/bridge/relay"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/board"
	"dragoman/core/coretest"
)

// overPipe makes the test's binary the server with the fixtures, over a pipe.
const overPipe = "CONFORMANCE_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asClient) != "" {
		run := client
		if os.Getenv(behind) != "" {
			run = front
		}
		if err := run(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	if os.Getenv(overPipe) == "" {
		os.Exit(run(m))
	}
	b := board.New()
	g := core.New(core.Config{Store: coretest.NewMemory(), Listing: b, Node: "test", Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return &core.Profile{}, nil })})
	j := new(jobs)
	s := mcp.New(mcp.Options{Gateway: g, Board: b, Principal: core.Local, Version: "1.0.0", Cwd: os.TempDir(), Extras: mcp.Extras{
		Extend:       func(s *sdk.Server) { fixtures(s, j) },
		Capabilities: func(c *sdk.ServerCapabilities) { c.Tools.ListChanged, c.Prompts.ListChanged = true, true },
		Tasks:        j.find,
		Subscribe:    func(uri string) bool { return uri == watched },
	}})
	if err := s.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// built is where everything builds, a folder that ends with the tests.
var built string

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dragoman-conformance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	built = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

// boxed is an upstream alone in a configuration, with all that dragoman keeps of it.
func boxed(t *testing.T, e upstream.Endpoint) *upstream.Box {
	t.Helper()
	box := upstream.New(upstream.Options{
		Servers: []upstream.Server{{Name: "up", Endpoint: func(context.Context) (upstream.Endpoint, error) { return e, nil }}}, Environ: os.Environ(),
		PinFile: filepath.Join(t.TempDir(), "pins.json"), Audit: func(upstream.Audit) {},
	})
	t.Cleanup(box.Close)
	return box
}

// relayed serves a relay to an upstream behind the gate, as dragoman does, and
// returns its URL.
func relayed(t *testing.T, e upstream.Endpoint) string {
	t.Helper()
	r, ok := relay.New(boxed(t, e), "up", nil)
	if !ok {
		t.Fatal("there is no relay")
	}
	return gated(t, r.HTTP(t.TempDir(), gate.Holder))
}

// joined is our agent as an aggregate has it.
type joined struct{ *mcp.Server }

func (a joined) Connect(ctx context.Context, of access.Holder, hear func(proto.Message)) aggregate.AgentConn {
	return a.Server.Connect(ctx, of, hear)
}

// aggregated serves our agent with an upstream beside it.
func aggregated(t *testing.T, e upstream.Endpoint) string {
	t.Helper()
	b := board.New()
	g := core.New(core.Config{Store: coretest.NewMemory(), Listing: b, Node: "test", Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return &core.Profile{}, nil })})
	agent := mcp.New(mcp.Options{Gateway: g, Board: b, Principal: core.Local, Version: "1.0.0", Cwd: t.TempDir()})
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	a := aggregate.New(boxed(t, e), aggregate.Options{Agent: joined{agent}, Servers: []string{"*"}})
	return gated(t, streamable.NewHandler(streamable.HandlerOptions{
		Connect: func(r *http.Request, c streamable.Visitor, send wire.Send) streamable.Conn {
			return a.Connect(gate.Holder(r), t.TempDir(), c.Shared, send)
		},
		Owner: func(r *http.Request) string { return gate.Holder(r).Key() }, Limit: upstream.MaxMessage,
	}))
}

// served serves over HTTP until Close.
type served interface {
	http.Handler
	Close()
}

func gated(t *testing.T, h served) string {
	t.Helper()
	front := gate.New(gate.Options{Everybody: access.Owner(core.Local)})
	front.Mount("/mcp", h)
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
	return "http://" + l.Addr().String() + "/mcp"
}

// everything is the SDK's own server for the suites, built once.
var everything = sync.OnceValues(func() (string, error) {
	path := filepath.Join(built, "everything")
	build := exec.Command("go", "build", "-o", path, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %v\n%s", err, text)
	}
	return path, nil
})

// overHTTP starts it at an address.
func overHTTP(t *testing.T, path string, stateless bool) upstream.Endpoint {
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
			return upstream.Endpoint{URL: "http://" + address}
		}
		if time.Now().After(deadline) {
			t.Fatal("the server did not start")
		}
		wait(ctx, 20*time.Millisecond) //nolint:errcheck // ctx lives
	}
}

// withoutFixtures are the scenarios that the SDK's server fails when it is asked directly: it has no tasks. The tenth
// of them finds nothing to look at, and passes.
var withoutFixtures = []string{
	"tasks-capability-negotiation", "tasks-dispatch-and-envelope", "tasks-lifecycle", "tasks-mrtr-composition", "tasks-mrtr-input",
	"tasks-request-headers", "tasks-request-state-removal", "tasks-required-task-error", "tasks-wire-fields",
}

// TestRelay runs the suites through the relay: what a server passes directly it
// passes through us.
func TestRelay(t *testing.T) { through(t, relays, relayed) }

// TestAggregate runs them through the aggregate of our agent and one server.
func TestAggregate(t *testing.T) { through(t, joins, aggregated) }

// every reports whether all scenarios and combinations are wanted (make conformance).
func every() bool { return os.Getenv("CONFORMANCE") == "all" }

// in says through what a combination of suite, transport and server is run every time.
type in int

const (
	never in = iota
	relays
	joins
)

func through(t *testing.T, always in, face func(*testing.T, upstream.Endpoint) string) {
	t.Parallel()
	dir := suites(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server, err := everything()
	if err != nil {
		t.Fatal(err)
	}
	fixturesOverPipe := func(*testing.T) upstream.Endpoint {
		return upstream.Endpoint{Command: self, Env: map[string]string{overPipe: "1"}}
	}
	stable := func(name string) suite {
		return suite{name, "suite-old", []string{"--suite", "all"}, nil, 32, nil}
	}
	spec := func(name, version string, scenarios int, without ...string) suite {
		return suite{name, "suite-new", []string{"--requirements", version}, []string{"--spec-version", version}, scenarios, without}
	}
	sdkOverPipe := func(*testing.T) upstream.Endpoint { return upstream.Endpoint{Command: server} }
	sdkOverHTTP := func(stateless bool) func(*testing.T) upstream.Endpoint {
		return func(t *testing.T) upstream.Endpoint { return overHTTP(t, server, stateless) }
	}
	fixturesOverHTTP := func(t *testing.T) upstream.Endpoint { return upstream.Endpoint{URL: serve(t)} }
	const early, late = "2025-11-25", "2026-07-28"
	for _, c := range []struct {
		suite
		up     func(*testing.T) upstream.Endpoint
		always in // so that each version, transport and server has its turn
	}{
		{stable("sdk/pipe/stable"), sdkOverPipe, relays},
		{spec("sdk/pipe/"+early, early, 33), sdkOverPipe, never},
		{spec("sdk/pipe/"+late, late, 41, withoutFixtures...), sdkOverPipe, joins},
		{stable("sdk/http/stable"), sdkOverHTTP(false), never},
		{spec("sdk/http/"+early, early, 33), sdkOverHTTP(false), relays},
		{spec("sdk/http/"+late, late, 41, withoutFixtures...), sdkOverHTTP(true), never},
		{spec("fixtures/pipe/"+early, early, 33), fixturesOverPipe, joins},
		{spec("fixtures/pipe/"+late, late, 50), fixturesOverPipe, never},
		{spec("fixtures/http/"+early, early, 33), fixturesOverHTTP, never},
		{spec("fixtures/http/"+late, late, 50), fixturesOverHTTP, relays},
	} {
		if c.always != always && !every() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.passes(t, dir, face(t, c.up(t)))
		})
	}
}
