package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/coretest"
)

// The pages of a caller do not depend on the cached state: one that polls over one connection
// gets the same as one that connects for each poll, while the turn runs and after it.
func TestPollsDoNotDependOnWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), 0, nil)
		first := converseAt(t, "2025-11-25", mcp.Options{Gateway: g, Principal: core.Local})
		id := first.call(0, "agent_prompt", `"prompt":"many 1000","wait_seconds":0`).Result.Struct
		kept := converseAt(t, "2025-11-25", mcp.Options{Gateway: g, Principal: core.Local})
		var cursor, other string
		texts, polls := "", 0
		for done := false; !done; polls++ {
			args := fmt.Sprintf(`"session_id":%q,"turn_id":%q,"wait_seconds":1`, id.Session, id.Turn)
			a := kept.call(polls, "agent_wait", args+fmt.Sprintf(`,"after":%q`, cursor))
			fresh := converseAt(t, "2025-11-25", mcp.Options{Gateway: g, Principal: core.Local})
			b := fresh.call(polls, "agent_wait", args+fmt.Sprintf(`,"after":%q`, other))
			fresh.stop()
			if fmt.Sprint(a.Result.Struct) != fmt.Sprint(b.Result.Struct) {
				t.Fatalf("poll %d: kept\n%.2000v\nfresh\n%.2000v", polls, a.Result.Struct, b.Result.Struct)
			}
			cursor, other = a.Result.Struct.Cursor, b.Result.Struct.Cursor
			for _, e := range a.Result.Struct.Events {
				texts += e.Text
				done = done || e.Type == "ended"
			}
			if polls > 100 {
				t.Fatal("it does not end")
			}
		}
		if n := strings.Count(texts, "one of many"); n != 1000 || polls < 5 {
			t.Errorf("%d events in %d polls", n, polls)
		}
		kept.stop()
		first.end()
	})
}

// A caller that polls does not make us read the session from its beginning, and neither does one
// that asks for the newest turn.
func TestPollsContinueReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		g := newGateway(store, 0, nil)
		c := converseAt(t, "2025-11-25", mcp.Options{Gateway: g, Principal: core.Local})
		session := c.call(0, "agent_prompt", `"prompt":"long 1000"`).Result.Struct.Session // beyond that the cache is useless
		c.call(1, "agent_prompt", fmt.Sprintf(`"prompt":"hang","session_id":%q,"wait_seconds":0`, session))
		c.stop()
		c = converseAt(t, "2025-11-25", mcp.Options{Gateway: g, Principal: core.Local})
		c.call(0, "agent_wait", fmt.Sprintf(`"session_id":%q,"wait_seconds":1`, session)) // until the turn has said its first words
		var reads atomic.Int32
		store.Before = func(_ context.Context, op string, _ core.SessionID) error {
			if op == "read" {
				reads.Add(1)
			}
			return nil
		}
		for i := range 20 {
			if a := c.call(i+1, "agent_wait", fmt.Sprintf(`"session_id":%q,"wait_seconds":0`, session)); a.Result.Struct.Status != "running" || !strings.HasSuffix(a.Result.Struct.Text, "one moment") {
				t.Errorf("%+v", a.Result)
			}
		}
		if n := reads.Load(); n > 0 {
			t.Errorf("20 polls have read the store %d times", n)
		}
		c.call(30, "agent_cancel", fmt.Sprintf(`"session_id":%q`, session))
		c.end()
	})
}

// The newest turn is found wherever it is, and its session is not read for it.
func TestNewestTurn(t *testing.T) {
	for _, many := range []int{0, 100, 150, 5000} {
		t.Run(fmt.Sprint(many), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway(coretest.NewMemory(), 0, nil)
				c := converseAt(t, "2025-11-25", mcp.Options{Gateway: g, Principal: core.Local})
				session := c.call(0, "agent_prompt", `"prompt":"many 2000"`).Result.Struct.Session
				last := c.call(1, "agent_prompt", fmt.Sprintf(`"prompt":"many %d","session_id":%q`, many, session)).Result.Struct.Turn
				c.stop()
				c = converseAt(t, "2025-11-25", mcp.Options{Gateway: g, Principal: core.Local})
				for i := range 2 {
					if a := c.call(i, "agent_wait", fmt.Sprintf(`"session_id":%q`, session)).Result.Struct; a.Turn != last || a.Status != "completed" {
						t.Errorf("%s %s, want %s", a.Turn, a.Status, last)
					}
				}
				c.end()
			})
		})
	}
}

// After many turns over HTTP there are as many goroutines as before.
func TestHTTPLeavesNothingBehind(t *testing.T) {
	g := newGateway(coretest.NewMemory(), 0, nil)
	before := runtime.NumGoroutine()
	h := mcp.New(mcp.Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()}).HTTP(func(*http.Request) access.Holder { return access.Owner(core.Local) })
	post := func(body string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for i := range 100 {
		id := post(initialize).Header().Get("Mcp-Session-Id")
		legacy := post(prompting(1, "say hello", ""), "Mcp-Session-Id", id)
		modern := post(prompting(1, "say hello", tokenMeta), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "agent_prompt")
		for _, w := range []*httptest.ResponseRecorder{legacy, modern} {
			if w.Code != 200 || !strings.Contains(w.Body.String(), `"completed"`) {
				t.Fatalf("%d: %d %s", i, w.Code, w.Body)
			}
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "http://localhost/", nil)
		r.Header.Set("Mcp-Session-Id", id)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	h.Close()
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
	fallTo(t, before)
}

// FuzzPost sends a server any body, with any version in the header. It must answer with a status,
// and with JSON if the header says so, and then answer a ping.
func FuzzPost(f *testing.F) {
	for _, body := range []string{
		initialize, `[]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{`, `null`, `{"method":"initialized"}`, prompting(1, "say x", tokenMeta),
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":{},"method":"tasks/get","params":{"taskId":"a.b","_meta":{}}}`, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dragoman://session/%"}}`,
	} {
		f.Add(body, "")
		f.Add(body, "2026-07-28")
	}
	f.Fuzz(func(t *testing.T, body, version string) {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway(coretest.NewMemory(), 0, nil)
			p, stop := serveHTTP(t, mcp.Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()})
			peer := p.(*httpPeer)
			peer.request(t.Context(), http.MethodPost, initialize)
			synctest.Wait()
			w := peer.request(t.Context(), http.MethodPost, body, "Mcp-Protocol-Version", version, "Mcp-Method", "tools/call", "Mcp-Name", "agent_prompt")
			synctest.Wait()
			if strings.HasPrefix(w.header.Get("Content-Type"), "application/json") && !json.Valid(w.body) {
				t.Errorf("%d %s", w.status, w.body)
			}
			stop()
			if err := g.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	})
}
