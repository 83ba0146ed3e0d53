package relay

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// played is a link whose other end answers each request with an empty result, after
// a while; closed when it was ended.
func played(after time.Duration) (l *upstream.Link, closed chan struct{}) {
	return answering(func(wire.Message) bool {
		<-time.After(after)
		return true
	})
}

// answering is played for the requests for which answers returns true; the others have no answer.
func answering(answers func(wire.Message) bool) (l *upstream.Link, closed chan struct{}) {
	fromServer, say := io.Pipe()
	hear, toServer := io.Pipe()
	closed = make(chan struct{})
	go func() {
		defer close(closed)
		defer say.Close()
		for frames := wire.Lines(hear, 0); ; {
			line, err := frames.Next()
			if err != nil {
				return
			}
			if m, err := wire.Parse(line); err == nil && m.Kind() == wire.Request && answers(m) {
				if _, err := say.Write(append(wire.AppendAnswer(nil, m.ID, map[string]any{}, nil), '\n')); err != nil {
					return
				}
			}
		}
	}()
	return &upstream.Link{In: fromServer, Out: toServer, Settled: func(string) {}, Close: func() { <-closed }, Why: func() string { return "over" }}, closed
}

func postTo(h *HTTP, session, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/mcp/up", strings.NewReader(body))
	req.Header.Set(proto.HeaderSession, session)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// joins makes a session of a link, with its first request open.
func joins(t *testing.T, h *HTTP, id string, l *upstream.Link) *httpSession {
	t.Helper()
	s := &httpSession{relay: h.relay, calls: &h.calls, id: id, of: access.Owner("p")}
	place, err := h.guests.Enter(id, s.works, func() { h.drop(s) })
	if err != nil {
		t.Fatal(err)
	}
	s.place = place
	h.adopt(s, l)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions[id] = s
	return s
}

const ping7 = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// A session that nobody uses ends, though nobody else comes; one in which a request is
// open or a stream is read does not.
func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay, _ := New(upstream.New(upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: plays("nobody")}}}), "up", nil)
		h := relay.HTTP("", func(*http.Request) access.Holder { return access.Owner("p") })
		defer h.Close()
		join := func(id string, l *upstream.Link) *httpSession {
			s := joins(t, h, id, l)
			s.place.Done()
			return s
		}
		l, closed := played(0)
		join("quiet", l)
		<-time.After(relayIdle - time.Minute)
		if w := postTo(h, "quiet", ping7); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		<-time.After(relayIdle - time.Minute)
		if w := postTo(h, "quiet", ping7); w.Code != http.StatusOK {
			t.Errorf("one that was used: %d %s", w.Code, w.Body)
		}
		<-time.After(relayIdle + time.Minute)
		<-closed
		if w := postTo(h, "quiet", ping7); w.Code != http.StatusNotFound {
			t.Errorf("one that was not: %d %s", w.Code, w.Body)
		}

		l, closed = played(3 * relayIdle)
		join("long", l)
		if w := postTo(h, "long", ping7); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"id":7`) {
			t.Errorf("a long call: %d %s", w.Code, w.Body)
		}
		<-closed

		l, closed = played(0)
		s := join("stream", l)
		ctx, hangUp := context.WithCancel(t.Context())
		read := make(chan struct{})
		go func() {
			defer close(read)
			r := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx)
			r.Header.Set(proto.HeaderSession, "stream")
			h.ServeHTTP(httptest.NewRecorder(), r)
		}()
		<-time.After(3 * relayIdle)
		if s.hasEnded() {
			t.Error("one whose stream is read has ended")
		}
		hangUp()
		<-read
		<-closed
	})
}

// A server that does not read keeps those who speak to it, and nobody else: not the
// one who ends the session.
func TestServerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fromServer, say := io.Pipe()
		hear, toServer := io.Pipe()
		relay, _ := New(upstream.New(upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: plays("nobody")}}}), "up", nil)
		h := relay.HTTP("", func(*http.Request) access.Holder { return access.Owner("p") })
		s := joins(t, h, "s", &upstream.Link{In: fromServer, Out: toServer, Settled: func(string) {}, Close: func() { say.Close() }, Why: func() string { return "over" }})
		large := `{"jsonrpc":"2.0","method":"notifications/x","params":{"text":"` + strings.Repeat("x", wire.PumpRoom) + `"}}`
		ctx, hangUp := context.WithCancel(t.Context())
		stuck := make(chan struct{})
		go func() {
			defer close(stuck)
			s.send(ctx, []byte(large))
			s.send(ctx, []byte(large)) // there is no room for it
		}()
		synctest.Wait()
		select {
		case <-stuck:
			t.Error("the queue has no end")
		default:
		}
		if s.hasEnded() {
			t.Error("it has ended")
		}
		hangUp()
		<-stuck
		h.drop(s)
		hear.Close()
	})
}

// Clients that leave without a word keep nobody out, and no more programs run than may:
// the session that was silent for longest ends, of one client before all.
func TestRelayedClientsThatNeverSayGoodbye(t *testing.T) {
	for name, modern := range map[string]bool{"sessions": false, "names": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var open, most atomic.Int32
				relay, _ := New(upstream.New(upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: plays("nobody")}}}), "up", nil)
				relay.connect = func(string) *upstream.Link {
					l, closed := played(0)
					most.Store(max(most.Load(), open.Add(1)))
					l.Close = func() {
						<-closed
						open.Add(-1)
					}
					return l
				}
				h := relay.HTTP("", func(r *http.Request) access.Holder { return access.Owner(core.Principal(r.Header.Get("X-Principal"))) })
				begin := func(client string) string {
					t.Helper()
					<-time.After(time.Second)
					body := `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"` + client + `"}}}`
					if modern {
						body = `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"` + client + `"}}}}`
					}
					req := httptest.NewRequest(http.MethodPost, "/mcp/up", strings.NewReader(body))
					if modern { // where all requests of a principal share a connection
						req.Header.Set("X-Principal", client)
						req.Header.Set(proto.HeaderVersion, "2026-07-28")
						req.Header.Set("Mcp-Method", "ping")
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, req)
					if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"error"`) {
						t.Fatalf("%s: %d %s", client, w.Code, w.Body)
					}
					return w.Header().Get(proto.HeaderSession)
				}
				there := func(id string) bool { return postTo(h, id, ping7).Code == http.StatusOK }
				other, first := begin("another"), begin("leaky")
				for range maxOfClient {
					begin("leaky")
				}
				if !modern && (there(first) || !there(other)) {
					t.Errorf("one that leaks: its first %v, another client's %v", there(first), there(other))
				}
				last := ""
				for i := range 1000 {
					last = begin(fmt.Sprint("client ", i))
				}
				if !modern && (there(other) || !there(last)) {
					t.Errorf("the one silent for longest %v, the newest %v", there(other), there(last))
				}
				if n := most.Load(); n != maxRelayed || open.Load() != n {
					t.Errorf("%d programs at most, %d now", n, open.Load())
				}
				<-time.After(relayIdle + time.Minute)
				if open.Load() != 0 || h.guests.Count() != 0 {
					t.Errorf("%d programs, %d places after a while", open.Load(), h.guests.Count())
				}
				h.Close()
			})
		})
	}
}

// Of a server's messages while its client has no stream open the first thousand are
// kept.
func TestKeptMessagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay, _ := New(upstream.New(upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: plays("nobody")}}}), "up", nil)
		h := relay.HTTP("", func(*http.Request) access.Holder { return access.Owner("p") })
		defer h.Close()
		l, _ := played(0)
		s := joins(t, h, "s", l)
		defer s.place.Done()
		line := []byte(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
		m, err := wire.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		for range maxKept + 100 {
			s.route(line, m)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		w := httptest.NewRecorder()
		read := make(chan struct{})
		go func() {
			defer close(read)
			s.listen(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
		}()
		synctest.Wait()
		hangUp()
		<-read
		if n := strings.Count(w.Body.String(), "list_changed"); n != maxKept {
			t.Errorf("%d messages were kept", n)
		}
	})
}
