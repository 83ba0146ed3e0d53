package aggregate

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// pipes is a net.Listener without a network, so that a test can have a clock of its own.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.done) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inMemory is hosted without a network; through carries requests to it.
func inMemory(t *testing.T, name string, s *mcp.Server) (server upstream.Server, through *http.Transport) {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	h := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Serve(l) // it ends with Close
	}()
	t.Cleanup(func() {
		h.Close()
		<-ended
	})
	through = &http.Transport{DialContext: l.dial}
	t.Cleanup(through.CloseIdleConnections)
	return upstream.Server{Name: name, Endpoint: at(bridgetest.Place{URL: "http://" + name + ".test"})}, through
}

// Calls that wait for the answers of a client's user are bounded in number and in time,
// whether the server has asked or a rule.
func TestParkedCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
		var ran, taken atomic.Int32
		mcp.AddTool(up, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
			if err != nil {
				taken.Add(1)
				return nil, nil, err
			}
			ran.Add(1)
			return &mcp.CallToolResult{}, nil, nil
		})
		mcp.AddTool(up, &mcp.Tool{Name: "act"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			ran.Add(1)
			return &mcp.CallToolResult{}, nil, nil
		})
		server, through := inMemory(t, "up", up)
		outcomes := map[string]int{}
		var mu sync.Mutex
		a := aggregate(t, upstream.Options{Servers: []upstream.Server{server}, Transport: through, Audit: func(a upstream.Audit) {
			mu.Lock()
			defer mu.Unlock()
			outcomes[a.Tool+" "+string(a.Outcome)]++
		}}, Options{Check: func(_, tool string, _ json.RawMessage) error {
			if tool == "act" {
				return &upstream.AskFirst{Why: bridgetest.MustAsk}
			}
			return nil
		}})
		c := unspoken(t, a)
		n := 0
		heap := func() int {
			synctest.Wait()
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc)
		}
		large := ""      // a part of each call
		const more = 100 // calls than may wait
		call := func(tool, members string) (state, fault string) {
			t.Helper()
			n++
			c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{},%s%s}}`, n, tool, bridgetest.ModernMeta(`{"elicitation":{}}`, large), members))
			var m struct {
				Result struct{ RequestState string }
				Error  struct{ Message string }
			}
			if err := json.Unmarshal([]byte(bridgetest.Last(c.Until(fmt.Sprintf(`"id":%d,`, n)))), &m); err != nil {
				t.Fatal(err)
			}
			return m.Result.RequestState, m.Error.Message
		}
		for tool, answers := range map[string]string{
			"ask": `,"inputResponses":{"1":{"action":"accept","content":{}}}`,
			"act": `,"inputResponses":{"allow":{"action":"accept","content":{"allow":true}}}`,
		} {
			ran.Store(0)
			taken.Store(0)
			var states []string
			park := func() {
				t.Helper()
				for states = nil; len(states) < 64; {
					state, fault := call(tool, "")
					if state == "" {
						t.Fatalf("%s: %s", tool, fault)
					}
					states = append(states, state)
				}
				before := heap()
				large = `,"large":"` + strings.Repeat("x", 100<<10) + `"`
				for range more {
					if state, fault := call(tool, ""); state != "" || !strings.Contains(fault, "64 calls wait for answers already") {
						t.Fatalf("%s: one more is not refused: %q", tool, fault)
					}
				}
				large = ""
				if grown := heap() - before; grown > more*(100<<10)/3 {
					t.Errorf("%s: %d calls that were refused take %d KiB", tool, more, grown>>10)
				}
			}
			park()
			<-time.After(15*time.Minute - time.Second)
			if again, fault := call(tool, `,"requestState":"`+states[0]+`"`+answers); again != "" || fault != "" || ran.Load() != 1 {
				t.Errorf("%s: an answer in time: %q, %d calls ran", tool, fault, ran.Load())
			}
			<-time.After(2 * time.Second)
			synctest.Wait()
			if n := taken.Load(); tool == "ask" && n != 63+more { // with those that were refused
				t.Errorf("%d calls were taken back at the server", n)
			}
			park() // there is room again
			<-time.After(15 * time.Minute)
			synctest.Wait()
			if again, fault := call(tool, `,"requestState":"`+states[1]+`"`+answers); again == "" && fault == "" || ran.Load() != 1 {
				t.Errorf("%s: an answer that is too late: %q, %d calls ran", tool, fault, ran.Load())
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if n := outcomes["act "+string(upstream.OutcomeRefused)]; n != 2*more+1 { // and the answer that is too late
			t.Errorf("%d calls are refused in the audit: %v", n, outcomes)
		}
	})
}
