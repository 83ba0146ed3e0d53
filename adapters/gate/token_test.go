package gate_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/adapters/gate"
	"dragoman/core"
	"dragoman/core/access"
)

// Of all headers only a single bearer token counts, and it is passed on as it is.
func TestWhichTokenCounts(t *testing.T) {
	got := ""
	g := gate.New(gate.Options{Admit: func(token string) (access.Holder, error) {
		got = token
		return access.Owner(core.Local), nil
	}})
	g.Mount("/", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		sent []string
		want string // "": it is refused, and nobody is asked
	}{
		{[]string{"Bearer abc"}, "abc"},
		{[]string{"bearer  abc "}, "abc"},
		{[]string{"Bearer a b"}, "a b"},
		{nil, ""},
		{[]string{""}, ""},
		{[]string{"Bearer"}, ""},
		{[]string{"Bearer "}, ""},
		{[]string{"abc"}, ""},
		{[]string{"Basic abc"}, ""},
		{[]string{"Bearer abc", "Bearer abc"}, ""},
		{[]string{"Bearer abc", ""}, ""},
	} {
		got = ""
		r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
		r.Header["Authorization"] = c.sent
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if got != c.want || (w.Code == http.StatusOK) != (c.want != "") {
			t.Errorf("%q: %d, %q", c.sent, w.Code, got)
		}
	}
}

// A request that did not pass a gate has no rights.
func TestHolderOfNobody(t *testing.T) {
	if h := gate.Holder(httptest.NewRequest(http.MethodGet, "/", nil)); h != (access.Holder{}) {
		t.Errorf("%+v", h)
	}
}

// Guesses leave nothing behind and take no place among the open requests, so others are served as
// before.
func TestGuesses(t *testing.T) {
	g := gate.New(gate.Options{Requests: 1, Admit: only("secret", access.Owner("ada"))})
	g.Mount("/", echo)
	ask := func(token string) int {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(""))
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if strings.Contains(w.Body.String(), token) && w.Code != http.StatusOK {
			t.Errorf("the answer repeats what was sent: %s", w.Body)
		}
		return w.Code
	}
	for i := range 10_000 {
		if code := ask(fmt.Sprint("secret", i)); code != http.StatusUnauthorized {
			t.Fatalf("%d", code)
		}
	}
	if code := ask("secret"); code != http.StatusOK {
		t.Errorf("the token after the guesses: %d", code)
	}
}

// A stream ends when its token is not admitted any more; those of other tokens go on.
func TestDismissedStreams(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var revoked atomic.Bool
	g := gate.New(gate.Options{Admit: func(token string) (access.Holder, error) {
		if token == "a" && revoked.Load() {
			return access.Holder{}, gate.ErrNoToken
		}
		return access.Owner(core.Principal(token)), nil
	}})
	ended := make(chan string, 2)
	g.Mount("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).Flush() //nolint:errcheck // the client reads
		<-r.Context().Done()
		ended <- string(gate.Holder(r).Principal)
	}))
	served := make(chan error, 1)
	go func() { served <- g.Serve(t.Context(), l, func() {}) }()
	open := func(token string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", res, err)
		}
		return res
	}
	a, b := open("a"), open("b")
	defer a.Body.Close() //nolint:errcheck // it was read
	revoked.Store(true)
	if _, err := io.ReadAll(a.Body); err != nil { // until it ends
		t.Error(err)
	}
	if who := <-ended; who != "a" {
		t.Errorf("%s has ended", who)
	}
	select {
	case who := <-ended:
		t.Errorf("%s has ended, too", who)
	default:
	}
	b.Body.Close() //nolint:errcheck // this is what ends it
	if who := <-ended; who != "b" {
		t.Errorf("%s has ended", who)
	}
	l.Close() //nolint:errcheck // this ends Serve
	if err := <-served; err == nil {
		t.Error("the listener has ended without an error")
	}
}
