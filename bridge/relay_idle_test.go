package bridge

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/wire"
	"dragoman/core"
)

// played is a link whose other end answers each request with an empty result, after
// a while; closed when it was ended.
func played(after time.Duration) (l *link, closed chan struct{}) {
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
			if m, err := wire.Parse(line); err == nil && m.Kind() == wire.Request {
				<-time.After(after)
				if _, err := say.Write(append(wire.AppendAnswer(nil, m.ID, map[string]any{}, nil), '\n')); err != nil {
					return
				}
			}
		}
	}()
	return &link{in: fromServer, out: toServer, settled: func(string) {}, close: func() { <-closed }, why: func() string { return "over" }}, closed
}

func postTo(h *RelayHTTP, session, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/mcp/up", strings.NewReader(body))
	req.Header.Set(sessionHeader, session)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

const ping7 = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// A session that nobody uses ends, though nobody else comes; one in which a request is
// open or a stream is read does not.
func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay, _ := New(Options{Servers: []Server{{Name: "up", Endpoint: plays("nobody")}}}).Relay("up", nil)
		h := relay.HTTP("", func(*http.Request) core.Principal { return "p" })
		defer h.Close()
		join := func(id string, l *link) *httpSession {
			s := h.adopt(l, "p", id, "")
			h.mu.Lock()
			defer h.mu.Unlock()
			h.sessions[id] = s
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
			s.listen(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
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
		relay, _ := New(Options{Servers: []Server{{Name: "up", Endpoint: plays("nobody")}}}).Relay("up", nil)
		h := relay.HTTP("", func(*http.Request) core.Principal { return "p" })
		s := h.adopt(&link{in: fromServer, out: toServer, settled: func(string) {}, close: func() { say.Close() }, why: func() string { return "over" }}, "p", "s", "")
		h.sessions["s"] = s
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
