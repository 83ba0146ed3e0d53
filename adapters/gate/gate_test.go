package gate_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/adapters/gate"
	"dragoman/core"
	"dragoman/core/access"
)

// echo answers with the principal and the body of the request.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	io.WriteString(w, string(gate.Holder(r).Principal)+": "+string(b)) //nolint:errcheck // the test reads it
})

// only admits the holder of one token.
func only(secret string, h access.Holder) func(string) (access.Holder, error) {
	return func(token string) (access.Holder, error) {
		if token != secret {
			return access.Holder{}, gate.ErrNoToken
		}
		return h, nil
	}
}

func TestWhoMayComeIn(t *testing.T) {
	g := gate.New(gate.Options{Admit: only("secret", access.Owner("ada")), Hosts: []string{"agents.example:443"}, Origins: []string{"https://app.example/"}, MaxBody: 10})
	g.Mount("/mcp", echo)
	for _, c := range []struct {
		name, host, origin, auth, method, body, path string
		status                                       int
	}{
		{name: "loopback", host: "127.0.0.1:80", auth: "Bearer secret", status: 200},
		{name: "another loopback", host: "127.8.8.8", auth: "bearer  secret", status: 200},
		{name: "localhost", host: "localhost:9", auth: "Bearer secret", status: 200},
		{name: "IPv6", host: "[::1]:9", auth: "Bearer secret", status: 200},
		{name: "an allowed name", host: "Agents.Example", auth: "Bearer secret", status: 200},
		{name: "rebound", host: "evil.example", auth: "Bearer secret", status: 403},
		{name: "a name that looks like loopback", host: "127.0.0.1.evil.example", auth: "Bearer secret", status: 403},
		{name: "no host", host: "", auth: "Bearer secret", status: 403},
		{name: "its own page", host: "localhost:9", origin: "http://localhost:9", auth: "Bearer secret", status: 200},
		{name: "another port's page", host: "localhost:9", origin: "http://localhost:10", auth: "Bearer secret", status: 403},
		{name: "a page elsewhere", host: "localhost:9", origin: "https://evil.example", auth: "Bearer secret", status: 403},
		{name: "a page from nowhere", host: "localhost:9", origin: "null", auth: "Bearer secret", status: 403},
		{name: "an allowed page", host: "localhost:9", origin: "https://app.example", auth: "Bearer secret", status: 200},
		{name: "a file's page", host: "localhost:9", origin: "file://localhost:9", auth: "Bearer secret", status: 403},
		{name: "no token", host: "localhost", status: 401},
		{name: "a wrong token", host: "localhost", auth: "Bearer secrets", status: 401},
		{name: "a wrong scheme", host: "localhost", auth: "Basic secret", status: 401},
		{name: "the token alone", host: "localhost", auth: "secret", status: 401},
		{name: "no token and a bad host", host: "evil.example", status: 403},
		{name: "elsewhere", host: "localhost", auth: "Bearer secret", path: "/other", status: 404},
		{name: "a body that fits", host: "localhost", auth: "Bearer secret", body: "0123456789", status: 200},
		{name: "a body that does not", host: "localhost", auth: "Bearer secret", body: "0123456789a", status: 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.path
			if path == "" {
				path = "/mcp"
			}
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(c.body))
			r.Host = c.host
			for name, v := range map[string]string{"Origin": c.origin, "Authorization": c.auth} {
				if v != "" {
					r.Header.Set(name, v)
				}
			}
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if c.status == 200 && w.Body.String() != "ada: "+c.body {
				t.Errorf("%s", w.Body)
			}
			if c.status == 413 && !strings.Contains(w.Body.String(), "a request may have at most 10 bytes") {
				t.Errorf("%s", w.Body)
			}
			if (c.status == 401) != (w.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("WWW-Authenticate: %q", w.Header().Get("WWW-Authenticate"))
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the answer tells the token: %s", w.Body)
			}
		})
	}
}

// A request with two tokens, or two origins, counts as one without.
func TestHeadersTwice(t *testing.T) {
	g := gate.New(gate.Options{Admit: only("secret", access.Owner("ada"))})
	g.Mount("/", echo)
	for _, name := range []string{"Authorization", "Origin"} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Add(name, map[string]string{"Authorization": "Bearer other", "Origin": "http://localhost"}[name])
		if name == "Origin" {
			r.Header.Add(name, "http://evil.example")
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code < 400 {
			t.Errorf("%s twice: %d", name, w.Code)
		}
	}
}

func TestPreflight(t *testing.T) {
	g := gate.New(gate.Options{Admit: only("secret", access.Owner("ada")), Origins: []string{"https://app.example"}})
	g.Mount("/", echo)
	r := httptest.NewRequest(http.MethodOptions, "http://localhost/", nil)
	r.Header.Set("Origin", "https://app.example")
	r.Header.Set("Access-Control-Request-Method", "POST")
	r.Header.Set("Access-Control-Request-Headers", "authorization,mcp-method")
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "https://app.example" || w.Header().Get("Access-Control-Allow-Headers") != "authorization,mcp-method" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	r.Header.Set("Origin", "https://evil.example")
	w = httptest.NewRecorder()
	if g.ServeHTTP(w, r); w.Code != 403 || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// A request over the limit of open ones is refused, and none once another has ended.
func TestOpenRequests(t *testing.T) {
	g := gate.New(gate.Options{Requests: 1})
	inside, leave := make(chan struct{}), make(chan struct{})
	g.Mount("/slow", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(inside); <-leave }))
	g.Mount("/", echo)
	var wg sync.WaitGroup
	wg.Go(func() {
		g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://localhost/slow", nil))
	})
	<-inside
	w := httptest.NewRecorder()
	if g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/", nil)); w.Code != 503 {
		t.Errorf("%d", w.Code)
	}
	close(leave)
	wg.Wait()
	w = httptest.NewRecorder()
	if g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/", nil)); w.Code != 200 {
		t.Errorf("%d", w.Code)
	}
}

// Serve streams, ends open requests when its context ends, and leaves nothing behind.
func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := gate.New(gate.Options{Everybody: access.Owner(core.Local)})
	over := make(chan struct{})
	g.Mount("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := gate.Holder(r); h != access.Owner(core.Local) {
			t.Errorf("holder %v", h)
		}
		io.ReadAll(r.Body)                    //nolint:errcheck // it is there
		io.WriteString(w, "one\n")            //nolint:errcheck // as above
		http.NewResponseController(w).Flush() //nolint:errcheck // as above
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, l, func() { close(over) }) }()
	res, err := http.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // as above
	r := bufio.NewReader(res.Body)
	if line, err := r.ReadString('\n'); line != "one\n" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	cancel(core.ErrShutdown)
	if _, err := r.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
	select {
	case err := <-served:
		if !errors.Is(err, core.ErrShutdown) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Serve does not end")
	}
}

func TestLoopback(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:80": true, "localhost:0": true, "[::1]:80": true, ":80": false, "0.0.0.0:80": false, "10.0.0.1:80": false, "example.com:80": false, "": false,
	} {
		if gate.Loopback(addr) != want {
			t.Errorf("%q: %v", addr, !want)
		}
	}
}
