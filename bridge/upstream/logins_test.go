package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/login"
	"dragoman/bridge/login/logintest"
	"dragoman/core"
)

// logRecorder records the log.
type logRecorder struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logRecorder) log(server, level, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(&l.text, server, level, text)
}

func (l *logRecorder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func echo(t *testing.T, s core.Toolset) {
	t.Helper()
	r, err := call(t, toolOf(t, s, "echo"), `{"text":"x"}`)
	if err != nil || !strings.Contains(text(r), "xx") {
		t.Errorf("%+v, %v", r, err)
	}
}

// newAuthority returns an authorization server for a server of the SDK.
func newAuthority(t *testing.T) *logintest.Authority {
	return logintest.New(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return bridgetest.SDKServer() }, nil))
}

// loginServer returns the MCP server of an authority, as configured.
func loginServer(a *logintest.Authority, c login.Config) Server {
	return Server{Name: "up", Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{URL: a.Resource, OAuth: c}, nil }}
}

// A server that requires a login reports that, uses the login once it is made, and keeps it.
func TestLogin(t *testing.T) {
	a, store, said := newAuthority(t), &logintest.Memory{}, &logRecorder{}
	h := &host{}
	o := Options{Servers: []Server{loginServer(a, login.Config{})}, Tokens: store, Log: said.log}
	b, s := open(t, h, o)
	if list, err := listed(bridgetest.Patient(t), s); err != nil || len(list) != 0 {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	item := awaitStatus(t, h.board, "up", "requires-auth")
	if item.Why != "it requires a login: dragoman mcp-servers login up" || item.LoggedIn {
		t.Errorf("%+v", item)
	}
	var shown string
	go1 := logintest.Browse(t, http.StatusOK)
	if err := b.Login(bridgetest.Patient(t), "up", func(address string) { shown = address; go1(address) }); err != nil {
		t.Fatal(err)
	}
	if u, err := url.Parse(shown); err != nil || u.Query().Get("resource") != a.Resource || u.Query().Get("tenant") != "1" || u.Query().Has("code_verifier") {
		t.Errorf("shown: %s", shown)
	}
	echo(t, s)
	if item := awaitStatus(t, h.board, "up", "running"); !item.LoggedIn || len(item.Tools) == 0 {
		t.Errorf("%+v", item)
	}
	h2 := &host{}
	_, s2 := open(t, h2, o) // the program was started again
	echo(t, s2)
	if n := a.Count("POST /token authorization_code"); n != 1 {
		t.Errorf("%d logins", n)
	}
	for _, secret := range a.Secrets() {
		if strings.Contains(said.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
}

// A login during the start of the server counts, even if that start fails.
func TestLoginDuringAStart(t *testing.T) {
	a, store := newAuthority(t), &logintest.Memory{}
	server := loginServer(a, login.Config{})
	begun, made := make(chan struct{}), make(chan struct{})
	var later atomic.Bool
	at := server.Endpoint
	server.Endpoint = func(ctx context.Context) (Endpoint, error) {
		if later.Swap(true) {
			return at(ctx)
		}
		close(begun)
		<-made
		return Endpoint{}, errors.New("this start was too early")
	}
	b, s := open(t, &host{}, Options{Servers: []Server{server}, Tokens: store, FirstPause: time.Hour})
	<-begun
	err := b.Login(bridgetest.Patient(t), "up", logintest.Browse(t, http.StatusOK))
	close(made)
	if err != nil {
		t.Fatal(err)
	}
	echo(t, s)
}

// A login by another process counts from the next turn on.
func TestLoginElsewhere(t *testing.T) {
	a, store, h := newAuthority(t), &logintest.Memory{}, &host{}
	o := Options{Servers: []Server{loginServer(a, login.Config{})}, Tokens: store}
	_, s := open(t, h, o)
	if _, err := listed(bridgetest.Patient(t), s); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, h.board, "up", "requires-auth")
	if err := New(o).Login(bridgetest.Patient(t), "up", logintest.Browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	echo(t, s)
}

// The same over the older transport.
func TestLoginOverSSE(t *testing.T) {
	a, store := newAuthority(t), &logintest.Memory{}
	a.MCP = mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return bridgetest.SDKServer() }, nil)
	server := loginServer(a, login.Config{})
	server.Endpoint = func(context.Context) (Endpoint, error) { return Endpoint{URL: a.Resource, SSE: true}, nil }
	h := &host{}
	b, s := open(t, h, Options{Servers: []Server{server}, Tokens: store})
	if list, err := listed(bridgetest.Patient(t), s); err != nil || len(list) != 0 {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	awaitStatus(t, h.board, "up", "requires-auth")
	if err := b.Login(bridgetest.Patient(t), "up", logintest.Browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	echo(t, s)
	a.End()
	echo(t, s)
}

// loggedIn returns a box whose server has a login.
func loggedIn(t *testing.T, a *logintest.Authority, store *logintest.Memory) (*Box, *host, core.Toolset) {
	t.Helper()
	h := &host{}
	b, s := open(t, h, Options{Servers: []Server{loginServer(a, login.Config{})}, Tokens: store})
	if err := b.Login(bridgetest.Patient(t), "up", logintest.Browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	echo(t, s)
	return b, h, s
}

// An expired token is renewed before it is used; the user is not asked.
func TestTokensAreRenewedInTime(t *testing.T) {
	a, store := newAuthority(t), &logintest.Memory{}
	a.Lifetime = 5 * time.Second // less than renewBefore: it is stale at once
	_, _, s := loggedIn(t, a, store)
	echo(t, s)
	if n := a.Count("POST /token refresh_token"); n < 2 {
		t.Errorf("renewed %d times", n)
	}
	if n := a.Count("POST /token authorization_code"); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// A refused token is renewed once, for all waiting requests in all processes: each refresh token
// can be used once.
func TestRefusedTokensAreRenewedOnce(t *testing.T) {
	a, store := newAuthority(t), &logintest.Memory{}
	_, _, s := loggedIn(t, a, store)
	_, other := open(t, &host{}, Options{Servers: []Server{loginServer(a, login.Config{})}, Tokens: store})
	echo(t, other)
	a.End()
	var all sync.WaitGroup
	for _, of := range []core.Toolset{s, other} {
		tool := toolOf(t, of, "echo")
		for range 8 {
			all.Go(func() {
				inv := core.Invocation{Call: "c", Args: json.RawMessage(`{"text":"x"}`), Output: func(string) {}}
				if r, err := tool.Run(t.Context(), inv); err != nil || !strings.Contains(text(r), "xx") {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
	}
	all.Wait()
	if n := a.Count("POST /token refresh_token"); n != 1 {
		t.Errorf("renewed %d times", n)
	}
}

// A revoked login does not count any more, and is not tried again and again.
func TestRevokedLogin(t *testing.T) {
	a, store := newAuthority(t), &logintest.Memory{}
	_, h, s := loggedIn(t, a, store)
	tool := toolOf(t, s, "echo")
	a.End()
	a.EndRenewals()
	_, err := call(t, tool, `{"text":"x"}`)
	if err == nil || !strings.Contains(err.Error(), "it requires a login: dragoman mcp-servers login up") {
		t.Errorf("%v", err)
	}
	item := awaitStatus(t, h.board, "up", "requires-auth")
	if item.Why != "it requires a login: dragoman mcp-servers login up" {
		t.Errorf("%+v", item)
	}
	if _, err := call(t, tool, `{"text":"x"}`); err == nil || !strings.Contains(err.Error(), "requires a login") {
		t.Errorf("%v", err)
	}
	if n := a.Count("POST /token refresh_token"); n != 1 {
		t.Errorf("tried %d times", n)
	}
	if l := store.Login("up", a.Resource); l.Access+l.Refresh != "" {
		t.Error("what is worth nothing is kept")
	}
}

// Missing rights are named, and requested at the next login in addition to the granted ones.
func TestLoginForMoreRights(t *testing.T) {
	a, store := newAuthority(t), &logintest.Memory{}
	a.Want("read")
	b, h, s := loggedIn(t, a, store)
	tool := toolOf(t, s, "echo")
	a.Want("read", "write")
	_, err := call(t, tool, `{"text":"x"}`)
	if err == nil || !strings.Contains(err.Error(), `with more rights ("read write"): dragoman mcp-servers login up`) {
		t.Errorf("%v", err)
	}
	awaitStatus(t, h.board, "up", "running") // for the other tools
	a.Want("write")
	if err := b.Login(bridgetest.Patient(t), "up", logintest.Browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	if l := store.Login("up", a.Resource); !slices.Equal(l.Scopes, []string{"write", "read"}) || l.Wanted != nil {
		t.Errorf("%q, %q", l.Scopes, l.Wanted)
	}
	if r, err := call(t, tool, `{"text":"x"}`); err != nil || !strings.Contains(text(r), "xx") {
		t.Errorf("%+v, %v", r, err)
	}
}

// A key of the configuration replaces a login.
func TestConfiguredKeyWins(t *testing.T) {
	a, store, h := newAuthority(t), &logintest.Memory{}, &host{}
	with := loginServer(a, login.Config{})
	with.Endpoint = func(context.Context) (Endpoint, error) {
		return Endpoint{URL: a.Resource, Headers: map[string]string{"authorization": "Bearer mine"}}, nil
	}
	if err := New(Options{Servers: []Server{loginServer(a, login.Config{})}, Tokens: store}).Login(bridgetest.Patient(t), "up", logintest.Browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	a.Shown()
	b, s := open(t, h, Options{Servers: []Server{with}, Tokens: store})
	_, _ = listed(bridgetest.Patient(t), s)
	awaitStatus(t, h.board, "up", "failed")
	for _, got := range a.Shown() {
		if got != "Bearer mine" {
			t.Errorf("the server saw %q", got)
		}
	}
	if err := b.Login(bridgetest.Patient(t), "up", func(string) {}); err == nil || !strings.Contains(err.Error(), "the configuration names a key") {
		t.Errorf("%v", err)
	}
}

// A token is sent only to its own server: not to another address of the same name, or the target
// of that server's redirect, or a server that a client brings along.
func TestTokensStayWithTheirServer(t *testing.T) {
	a, store := newAuthority(t), &logintest.Memory{}
	loggedIn(t, a, store)
	var mu sync.Mutex
	var seen []string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Authorization"))
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	defer thief.Close()
	moved := Server{Name: "up", Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{URL: thief.URL + "/mcp"}, nil }}
	h := &host{}
	b, s := open(t, h, Options{Servers: []Server{moved}, Tokens: store})
	_, _ = listed(bridgetest.Patient(t), s)
	awaitStatus(t, h.board, "up", "requires-auth")
	if b.clientFor(broughtServer(core.ServerSpec{Name: "up", URL: a.Resource}), Endpoint{URL: a.Resource}) != b.client {
		t.Error("a client's server has a login")
	}
	// The server itself redirects.
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+"/mcp", http.StatusTemporaryRedirect)
	}))
	defer away.Close()
	kept, _ := store.Load(t.Context(), "up")
	text := bytes.Replace(kept, []byte(`"server":"`+a.Resource), []byte(`"server":"`+away.URL+"/mcp"), 1)
	if bytes.Equal(text, kept) {
		t.Fatalf("kept: %s", kept)
	}
	elsewhere := &logintest.Memory{}
	elsewhere.Put("up", text)
	h = &host{}
	_, s = open(t, h, Options{Servers: []Server{{Name: "up", Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{URL: away.URL + "/mcp"}, nil }}}, Tokens: elsewhere})
	_, _ = listed(bridgetest.Patient(t), s)
	awaitStatus(t, h.board, "up", "failed")
	mu.Lock()
	defer mu.Unlock()
	for _, got := range seen {
		if got != "" {
			t.Errorf("another server saw %q", got)
		}
	}
	if len(seen) == 0 {
		t.Error("nobody was asked")
	}
}

// A logout ends the connections made with the login, and the login, here and there.
func TestLogout(t *testing.T) {
	a, store := newAuthority(t), &logintest.Memory{}
	b, h, _ := loggedIn(t, a, store)
	if err := b.Logout(bridgetest.Patient(t), "up"); err != nil {
		t.Fatal(err)
	}
	if item := awaitStatus(t, h.board, "up", "requires-auth"); item.LoggedIn {
		t.Errorf("%+v", item)
	}
	if kept, _ := store.Load(t.Context(), "up"); kept != nil {
		t.Errorf("kept: %s", kept)
	}
	for _, s := range a.Live() {
		t.Errorf("%.8s… is good for something", s)
	}
	if err := b.Logout(bridgetest.Patient(t), "up"); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := b.Logout(bridgetest.Patient(t), "nobody"); err == nil {
		t.Error("nobody has logged out")
	}
}
