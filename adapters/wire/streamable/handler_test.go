package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// played is a server that answers at once, but what is called "slow", which it leaves to the
// test.
type played struct {
	conn *wire.Conn
	slow chan *wire.Call
	turn *atomic.Bool
}

func (p *played) Take(key string, m wire.Message) {
	p.conn.Take(context.Background(), key, m, func(c *wire.Call) {
		switch {
		case c.IsNotification():
		case c.Method == "slow":
			p.slow <- c
		default:
			c.Reply(map[string]string{"method": c.Method}, nil)
		}
	})
}
func (p *played) Cancel(key string) { p.conn.CancelRequest(json.RawMessage(key)) }
func (p *played) Works() bool       { return p.turn.Load() }
func (p *played) Close()            { p.conn.End() }

// playing returns a handler of such a server.
func playing() (h *Handler, slow chan *wire.Call, turn *atomic.Bool) {
	slow, turn = make(chan *wire.Call, 10), new(atomic.Bool)
	h = NewHandler(HandlerOptions{
		Connect: func(_ *http.Request, _ Visitor, send wire.Send) Conn {
			return &played{wire.NewLocal(send, wire.Options{}), slow, turn}
		},
		Owner: func(*http.Request) string { return "p" }, Idle: 15 * time.Minute, Limit: 1 << 20,
	})
	return h, slow, turn
}

// ask sends one request of a session.
func ask(ctx context.Context, h *Handler, method, session, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/mcp", strings.NewReader(body)).WithContext(ctx)
	r.Header.Set(proto.HeaderSession, session)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func hello(t *testing.T, h *Handler) string {
	t.Helper()
	w := ask(t.Context(), h, http.MethodPost, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"c"}}}`)
	if w.Code != http.StatusOK || w.Header().Get(proto.HeaderSession) == "" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Header().Get(proto.HeaderSession)
}

// A client that loses its connection in the middle of a call comes back for what it has missed
// by the id of the last event that it has seen.
func TestClientsComeBackForWhatTheyMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, slow, _ := playing()
		defer h.Close()
		id := hello(t, h)
		ctx, hangUp := context.WithCancel(t.Context())
		first := make(chan *httptest.ResponseRecorder)
		go func() { first <- ask(ctx, h, http.MethodPost, id, `{"jsonrpc":"2.0","id":7,"method":"slow"}`) }()
		call := <-slow
		for i := range 3 {
			if err := call.Notify(proto.NoteProgress, map[string]int{"progress": i}); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		hangUp()
		text := (<-first).Body.String()
		for i := range 3 {
			if want := fmt.Sprintf("id: 3_%d\nevent: message\n", i+1); strings.Count(text, want) != 1 {
				t.Errorf("%q is missing in %q", want, text)
			}
		}
		call.Reply("done", nil)
		w := ask(t.Context(), h, http.MethodGet, id, "", "Last-Event-ID", "3_2")
		want := "id: 3_3\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":2}}\n\n" +
			"id: 3_4\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"done\"}\n\n"
		if w.Body.String() != want {
			t.Errorf("got %q, want %q", w.Body, want)
		}
		if w := ask(t.Context(), h, http.MethodGet, id, "", "Last-Event-ID", "99_1"); w.Code != http.StatusBadRequest {
			t.Errorf("an event that there never was: %d", w.Code)
		}
	})
}

// A call that takes a while gives the client an id to come back with before anything is said.
func TestSlowCallsGiveAnEventIDFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, slow, _ := playing()
		defer h.Close()
		id := hello(t, h)
		ctx, hangUp := context.WithCancel(t.Context())
		first := make(chan *httptest.ResponseRecorder)
		go func() {
			first <- ask(ctx, h, http.MethodPost, id, `{"jsonrpc":"2.0","id":7,"method":"slow"}`, proto.HeaderVersion, proto.Legacy)
		}()
		call := <-slow
		<-time.After(2 * primeAfter)
		hangUp()
		if text := (<-first).Body.String(); text != "id: 3_0\ndata: \n\n" {
			t.Errorf("%q", text)
		}
		call.Reply("done", nil)
		if w := ask(t.Context(), h, http.MethodGet, id, "", "Last-Event-ID", "3_0"); !strings.Contains(w.Body.String(), `"result":"done"`) {
			t.Errorf("%q", w.Body)
		}
	})
}

// What is kept for clients who may come back has a limit; what somebody reads has none.
func TestKeptEventsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, slow, _ := playing()
		defer h.Close()
		id := hello(t, h)
		ctx, hangUp := context.WithCancel(t.Context())
		first := make(chan *httptest.ResponseRecorder)
		go func() { first <- ask(ctx, h, http.MethodPost, id, `{"jsonrpc":"2.0","id":7,"method":"slow"}`) }()
		call := <-slow
		large := strings.Repeat("x", keptBytes/2)
		for range 4 {
			call.Notify("notifications/large", []string{large}) //nolint:errcheck // the test fails else
			synctest.Wait()
		}
		hangUp()
		if n := (<-first).Body.Len(); n < 4*len(large) {
			t.Errorf("a reader has had %d bytes", n)
		}
		if h.kept.bytes > keptBytes {
			t.Errorf("%d bytes are kept", h.kept.bytes)
		}
		call.Reply("done", nil)
		if w := ask(t.Context(), h, http.MethodGet, id, "", "Last-Event-ID", "3_1"); w.Code != http.StatusBadRequest {
			t.Errorf("what is not kept: %d", w.Code)
		}
		if w := ask(t.Context(), h, http.MethodGet, id, "", "Last-Event-ID", "3_3"); !strings.Contains(w.Body.String(), `"result":"done"`) {
			t.Errorf("what is kept: %d", w.Code)
		}
	})
}

// A session whose turn runs makes no room, and does not end; the newcomer is told so.
func TestSessionsAtWorkStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _, turn := playing()
		defer h.Close()
		h.guests.All = 1
		turn.Store(true)
		works := hello(t, h)
		const ping, begin = `{"jsonrpc":"2.0","id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`
		<-time.After(3 * h.guests.Idle)
		if w := ask(t.Context(), h, http.MethodPost, "", begin); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "something is under way") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if w := ask(t.Context(), h, http.MethodPost, works, ping); w.Code != http.StatusOK {
			t.Errorf("one that works has ended: %d %s", w.Code, w.Body)
		}
		turn.Store(false)
		hello(t, h)
		if w := ask(t.Context(), h, http.MethodPost, works, ping); w.Code != http.StatusNotFound {
			t.Errorf("the one that made room is there: %d", w.Code)
		}
	})
}
