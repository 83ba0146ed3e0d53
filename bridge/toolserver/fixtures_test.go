package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
)

// relayVar has the binary of these tests be the program of Session.Stdio.
const relayVar = "TOOLSERVER_TEST_RELAYS"

func TestMain(m *testing.M) {
	if os.Getenv(relayVar) == "" {
		os.Exit(m.Run())
	}
	code := 0
	if err := Relay(context.Background(), os.Getenv(URLVar), os.Getenv(TokenVar), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	syscall.Exit(code) // with os.Exit the race detector sleeps for a second
}

// turn is a turn of the tests. Without an invoke it answers with the arguments.
type turn struct {
	mu       sync.Mutex
	specs    []core.Spec
	err      error
	starters []core.Starter
	listing  atomic.Int32 // calls of Tools that are running
	calls    atomic.Int64
	invoke   func(context.Context, core.Call) (core.Result, error)
}

func (t *turn) set(specs ...core.Spec) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.specs = specs
}

func (t *turn) Tools(context.Context) ([]core.Spec, error) {
	if t.listing.Add(1) > 1 {
		panic("two goroutines list the tools")
	}
	defer t.listing.Add(-1)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.specs, t.err
}

func (t *turn) Starters() []core.Starter { return t.starters }

func (t *turn) NewCall() core.CallID { return core.CallID(fmt.Sprint("c-", t.calls.Add(1))) }

func (t *turn) Invoke(ctx context.Context, c core.Call) (core.Result, error) {
	if t.invoke != nil {
		return t.invoke(ctx, c)
	}
	return core.Result{Blocks: []core.Block{core.Text{Text: fmt.Sprintf("%s %s/%s %s", c.ID, c.Server, c.Tool, c.Args)}}}, nil
}

// blocks is an invoke that says when it has begun, and waits for its end.
func blocks(began chan<- struct{}) func(context.Context, core.Call) (core.Result, error) {
	return func(ctx context.Context, _ core.Call) (core.Result, error) {
		began <- struct{}{}
		<-ctx.Done()
		return core.Result{}, context.Cause(ctx)
	}
}

// echo is a tool of an MCP server.
var echo = core.Spec{Server: "files", Name: "echo", Title: "Echo", Description: "says it again", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`), ReadOnly: true}

// newPool returns a pool whose program is the binary of these tests. When the test ends no goroutine
// of the pool is left.
func newPool(t *testing.T) *Pool {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() { none(t, before) })
	return openPool(t)
}

func openPool(t *testing.T) *Pool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := New(Options{Version: "1.2.3", Program: []string{self, "-test.run=none"}})
	t.Cleanup(p.Close)
	return p
}

// none fails if there are more goroutines than before, and stay.
func none(t *testing.T, before int) {
	t.Helper()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for end := time.Now().Add(bridgetest.Patience); runtime.NumGoroutine() > before+2; runtime.Gosched() {
		if time.Now().After(end) {
			b := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
	}
}

func open(t *testing.T, p *Pool, specs ...core.Spec) *Session {
	t.Helper()
	s, err := p.Open(Client{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.List(specs)
	return s
}

func begin(t *testing.T, s *Session, w *turn) (end func()) {
	t.Helper()
	end, err := s.Begin(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// ways are the transports of a session's server.
var ways = map[string]func(*testing.T, *Session) mcp.Transport{
	"http": func(_ *testing.T, s *Session) mcp.Transport {
		url, headers := s.HTTP()
		return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: with(headers)}, MaxRetries: -1}
	},
	"stdio": func(t *testing.T, s *Session) mcp.Transport { return &mcp.CommandTransport{Command: program(t, s)} },
}

// program is the program of Session.Stdio.
func program(t *testing.T, s *Session) *exec.Cmd {
	command, args, env := s.Stdio()
	c := exec.CommandContext(t.Context(), command, args...)
	c.Env = []string{relayVar + "=yes"}
	for name, value := range env {
		c.Env = append(c.Env, name+"="+value)
	}
	c.Stderr = os.Stderr
	return c
}

// with adds headers to requests.
type with map[string]string

func (h with) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// each runs a test over each transport at each version.
func each(t *testing.T, f func(t *testing.T, s *Session, connect func(*mcp.ClientOptions) *mcp.ClientSession)) {
	for way, over := range ways {
		for _, era := range bridgetest.Eras {
			t.Run(way+" "+era, func(t *testing.T) {
				s := open(t, newPool(t), echo)
				f(t, s, func(o *mcp.ClientOptions) *mcp.ClientSession {
					return bridgetest.Connected(t, over(t, s), era, o)
				})
			})
		}
	}
}

func names(t *testing.T, cs *mcp.ClientSession, want ...string) {
	t.Helper()
	if got := bridgetest.ToolNames(t, cs); !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
}
