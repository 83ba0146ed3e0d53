package llm

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// These tests use real sockets, where pipes in memory behave differently: resets,
// refused connections, and the number of connections.

// listen serves h over TCP and returns a model of it, and the number of open
// connections.
func listen(t *testing.T, h http.HandlerFunc) (m inference.Model, open *atomic.Int64) {
	t.Helper()
	open = new(atomic.Int64)
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}
	srv.Start()
	r := New(Config{Providers: []Provider{{Name: "svc", Kind: KindOpenAIChat, BaseURL: srv.URL + "/v1"}}})
	t.Cleanup(func() {
		r.Close()
		srv.Close()
	})
	return model(t, r), open
}

// eventually waits until ok holds, without sleeping.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func TestNetworkReset(t *testing.T) {
	m, _ := listen(t, func(w http.ResponseWriter, _ *http.Request) {
		newStream(w).text("abcd")
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // Close resets
		}
		_ = c.Close()
	})
	h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
	var e *inference.Error
	if !errors.As(h.Err, &e) || e.Kind != inference.ErrTruncated && e.Kind != inference.ErrNetwork || h.Stop != "" {
		t.Errorf("text %q, error %v", h.Text, h.Err)
	}
}

func TestNetworkRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://user:canary@" + l.Addr().String() + "/v1?token=canary"
	_ = l.Close()
	r := New(Config{Providers: []Provider{{Name: "svc", Kind: KindOpenAIChat, BaseURL: base}}})
	defer r.Close()
	h := coretest.Hear(t.Context(), t, model(t, r), coretest.ModelRequest(), nil)
	var e *inference.Error
	if !errors.As(h.Err, &e) || e.Kind != inference.ErrNetwork || len(h.Retries) != 0 {
		t.Fatalf("error %v after %d retries", h.Err, len(h.Retries))
	}
	if want := "Is the server running at http://" + l.Addr().String() + "/v1?"; e.Hint != want || strings.Contains(e.Error(), "canary") {
		t.Errorf("error %v, want the hint %q", e, want)
	}
}

// TestNetworkCancel: 40 answers are cancelled in the middle; no connection and no
// goroutine is left, and none of them is a success.
func TestNetworkCancel(t *testing.T) {
	m, open := listen(t, func(w http.ResponseWriter, _ *http.Request) {
		for s := newStream(w); s.text("word "); {
		}
	})
	before := runtime.NumGoroutine()
	for i := range 40 {
		ctx, cancel := context.WithCancelCause(t.Context())
		n := 0
		h := coretest.Hear(ctx, t, m, coretest.ModelRequest(), func(inference.Delta) bool {
			if n++; n > i {
				cancel(core.ErrCanceled)
			}
			return true
		})
		cancel(nil)
		if !errors.Is(h.Err, context.Canceled) {
			t.Fatalf("cancel %d: %q, %v", i, h.Stop, h.Err)
		}
	}
	eventually(t, "connections are left", func() bool { return open.Load() == 0 })
	eventually(t, "goroutines are left", func() bool { return runtime.NumGoroutine() <= before })
}

// TestNetworkReuse: complete answers share one connection, even if the end of the body
// comes a little later than [DONE].
func TestNetworkReuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model(t, serve(t, Provider{}, func(w http.ResponseWriter, r *http.Request) {
			s := newStream(w)
			s.text("fine")
			s.end("stop", usage12and3)
			_ = sleep(r.Context(), drainTimeout/10)
		}))
		fresh := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
			if !c.Reused {
				fresh++
			}
		}})
		for range 10 {
			if h := coretest.Hear(ctx, t, m, coretest.ModelRequest(), nil); h.Err != nil {
				t.Fatal(h.Err)
			}
		}
		if fresh != 1 {
			t.Errorf("%d connections for 10 answers", fresh)
		}
	})
}
