package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"dragoman/core"
)

// logging notes what is logged.
type logging struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logging) log(server, level, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(&l.text, server, level, text)
}

func (l *logging) String() string {
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

// A server that wants a login says so, has it after it was made, and keeps it.
func TestLogin(t *testing.T) {
	a, store, said := newAuthority(t), &memory{}, &logging{}
	h := &host{}
	o := Options{Servers: []Server{a.server(OAuth{})}, Tokens: store, Log: said.log}
	b, s := open(t, h, o)
	if list, err := s.Tools(within(t)); err != nil || len(list) != 0 {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	item := awaitStatus(t, h.board, "up", "requires-auth")
	if item.Why != "it wants a login: dragoman mcp-servers login up" || item.LoggedIn {
		t.Errorf("%+v", item)
	}
	var shown string
	go1 := browse(t, http.StatusOK)
	if err := b.Login(within(t), "up", func(address string) { shown = address; go1(address) }); err != nil {
		t.Fatal(err)
	}
	if u, err := url.Parse(shown); err != nil || u.Query().Get("resource") != a.resource || u.Query().Get("tenant") != "1" || u.Query().Has("code_verifier") {
		t.Errorf("shown: %s", shown)
	}
	echo(t, s)
	if item := awaitStatus(t, h.board, "up", "running"); !item.LoggedIn || len(item.Tools) == 0 {
		t.Errorf("%+v", item)
	}
	h2 := &host{}
	_, s2 := open(t, h2, o) // the program was started again
	echo(t, s2)
	if n := a.count("POST /token authorization_code"); n != 1 {
		t.Errorf("%d logins", n)
	}
	for _, secret := range a.secrets() {
		if strings.Contains(said.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
}

// A login that comes while the server is being started counts, though that start fails.
func TestLoginDuringAStart(t *testing.T) {
	a, store := newAuthority(t), &memory{}
	server := a.server(OAuth{})
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
	b, s := open(t, &host{}, Options{Servers: []Server{server}, Tokens: store, firstPause: time.Hour})
	<-begun
	err := b.Login(within(t), "up", browse(t, http.StatusOK))
	close(made)
	if err != nil {
		t.Fatal(err)
	}
	echo(t, s)
}

// A login that another process makes counts at the next turn.
func TestLoginElsewhere(t *testing.T) {
	a, store, h := newAuthority(t), &memory{}, &host{}
	o := Options{Servers: []Server{a.server(OAuth{})}, Tokens: store}
	_, s := open(t, h, o)
	if _, err := s.Tools(within(t)); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, h.board, "up", "requires-auth")
	if err := New(o).Login(within(t), "up", browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	echo(t, s)
}

// Over the older transport it is the same.
func TestLoginOverSSE(t *testing.T) {
	a, store := newAuthority(t), &memory{}
	a.sse = true
	h := &host{}
	b, s := open(t, h, Options{Servers: []Server{a.server(OAuth{})}, Tokens: store})
	if list, err := s.Tools(within(t)); err != nil || len(list) != 0 {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	awaitStatus(t, h.board, "up", "requires-auth")
	if err := b.Login(within(t), "up", browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	echo(t, s)
	a.end()
	echo(t, s)
}

// A server that asks for no login is not taken for its own authorization server.
func TestNoLoginIsWanted(t *testing.T) {
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdkServer() }, nil))
	defer s.Close()
	b := New(Options{Servers: []Server{{Name: "up", Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{URL: s.URL}, nil }}}, Tokens: &memory{}})
	if err := b.Login(within(t), "up", func(string) { t.Error("the browser was opened") }); err == nil || !strings.Contains(err.Error(), "asks for no login") {
		t.Errorf("%v", err)
	}
}

// A client of a relay over a pipe is told that a login is wanted, and goes on when
// there is one.
func TestRelayedClientOutlivesALogin(t *testing.T) {
	a, store := newAuthority(t), &memory{}
	b := New(Options{Servers: []Server{a.server(OAuth{})}, Tokens: store})
	relay, _ := b.Relay("up", nil)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = relay.Serve(ctx, t.TempDir(), in, out)
	}()
	defer func() { cancel(); <-ended }()
	lines := bufio.NewScanner(fromServer)
	ask := func(want string) {
		t.Helper()
		fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("%s, %v; want %s", lines.Text(), lines.Err(), want)
		}
	}
	ask("wants a login: dragoman mcp-servers login up")
	if err := b.Login(ctx, "up", browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	ask(`"serverInfo"`)
}

// loggedIn is a box whose server has a login.
func loggedIn(t *testing.T, a *authority, store *memory) (*Box, *host, core.Toolset) {
	t.Helper()
	h := &host{}
	b, s := open(t, h, Options{Servers: []Server{a.server(OAuth{})}, Tokens: store})
	if err := b.Login(within(t), "up", browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	echo(t, s)
	return b, h, s
}

// A token that has run out is renewed before it is used; nobody is asked.
func TestTokensAreRenewedInTime(t *testing.T) {
	a, store := newAuthority(t), &memory{}
	a.lifetime = 5 * time.Second // less than earlyBy: it is stale at once
	_, _, s := loggedIn(t, a, store)
	echo(t, s)
	if n := a.count("POST /token refresh_token"); n < 2 {
		t.Errorf("renewed %d times", n)
	}
	if n := a.count("POST /token authorization_code"); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// A token that is refused is renewed once, for all who wait, whatever process they
// are in: each renewal token is good for one time.
func TestRefusedTokensAreRenewedOnce(t *testing.T) {
	a, store := newAuthority(t), &memory{}
	_, _, s := loggedIn(t, a, store)
	_, other := open(t, &host{}, Options{Servers: []Server{a.server(OAuth{})}, Tokens: store})
	echo(t, other)
	a.end()
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
	if n := a.count("POST /token refresh_token"); n != 1 {
		t.Errorf("renewed %d times", n)
	}
}

// A login that was taken back is none, and not tried again and again.
func TestLoginThatIsOver(t *testing.T) {
	a, store := newAuthority(t), &memory{}
	_, h, s := loggedIn(t, a, store)
	tool := toolOf(t, s, "echo")
	a.end()
	a.mu.Lock()
	a.renewal = map[string]*token{}
	a.mu.Unlock()
	_, err := call(t, tool, `{"text":"x"}`)
	if err == nil || !strings.Contains(err.Error(), "it wants a login: dragoman mcp-servers login up") {
		t.Errorf("%v", err)
	}
	item := awaitStatus(t, h.board, "up", "requires-auth")
	if item.Why != "it wants a login: dragoman mcp-servers login up" {
		t.Errorf("%+v", item)
	}
	if _, err := call(t, tool, `{"text":"x"}`); err == nil || !strings.Contains(err.Error(), "wants a login") {
		t.Errorf("%v", err)
	}
	if n := a.count("POST /token refresh_token"); n != 1 {
		t.Errorf("tried %d times", n)
	}
	if l := store.login("up", a.resource); l.Access+l.Refresh != "" {
		t.Error("what is worth nothing is kept")
	}
}

// Rights that are missing are named, and asked for at the next login beside those
// that are there.
func TestLoginForMore(t *testing.T) {
	a, store := newAuthority(t), &memory{}
	a.want("read")
	b, h, s := loggedIn(t, a, store)
	tool := toolOf(t, s, "echo")
	a.want("read", "write")
	_, err := call(t, tool, `{"text":"x"}`)
	if err == nil || !strings.Contains(err.Error(), `with more rights ("read write"): dragoman mcp-servers login up`) {
		t.Errorf("%v", err)
	}
	awaitStatus(t, h.board, "up", "running") // for the other tools
	a.want("write")
	if err := b.Login(within(t), "up", browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	if l := store.login("up", a.resource); !slices.Equal(l.Scopes, []string{"write", "read"}) || l.Wanted != nil {
		t.Errorf("%q, %q", l.Scopes, l.Wanted)
	}
	if r, err := call(t, tool, `{"text":"x"}`); err != nil || !strings.Contains(text(r), "xx") {
		t.Errorf("%+v, %v", r, err)
	}
}

// A client that was registered by hand is used as it is, at its own authorization
// server only.
func TestLoginOfARegisteredClient(t *testing.T) {
	for name, c := range map[string]struct {
		known []string
		o     OAuth
		fault string
	}{
		"basic":          {nil, OAuth{ClientID: "me", ClientSecret: "s3cret&=", Scopes: []string{"mine"}}, ""},
		"post":           {[]string{authPost}, OAuth{ClientID: "me", ClientSecret: "s3cret&="}, "invalid_client"}, // the authority takes the other way only
		"wrong":          {nil, OAuth{ClientID: "me", ClientSecret: "other"}, "invalid_client"},
		"another issuer": {nil, OAuth{ClientID: "me", ClientSecret: "s3cret&=", Issuer: "https://login.example.com"}, "belongs to https://login.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			a, store := newAuthority(t), &memory{}
			a.known["me"] = url.QueryEscape("s3cret&=")
			a.meta = func(m map[string]any) {
				delete(m, "registration_endpoint")
				m["token_endpoint_auth_methods_supported"] = c.known
			}
			b := New(Options{Servers: []Server{a.server(c.o)}, Tokens: store})
			show := browse(t, http.StatusOK)
			err := b.Login(within(t), "up", show)
			if c.fault == "" {
				if l := store.login("up", a.resource); err != nil || l.Access == "" || !slices.Equal(l.Scopes, []string{"mine"}) {
					t.Errorf("%v, %q", err, l.Scopes)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v", err)
			}
			if c.o.Issuer != "" && a.count("POST /token authorization_code") > 0 {
				t.Error("the secret was shown to another server")
			}
		})
	}
	a := newAuthority(t)
	a.meta = func(m map[string]any) { delete(m, "registration_endpoint") }
	err := New(Options{Servers: []Server{a.server(OAuth{})}, Tokens: &memory{}}).Login(within(t), "up", func(string) {})
	if err == nil || !strings.Contains(err.Error(), "register a client there with the redirect address http://127.0.0.1:") {
		t.Errorf("%v", err)
	}
}

// What the servers say is not trusted: nothing odd is opened in a browser, nothing
// inside is asked, nobody else's answer is taken.
func TestLoginsThatAreRefused(t *testing.T) {
	point := func(to string) func(*authority) {
		return func(a *authority) { a.meta = func(m map[string]any) { m["authorization_endpoint"] = to } }
	}
	for name, c := range map[string]struct {
		change func(*authority)
		fault  string
	}{
		"file":             {point("file:///etc/passwd"), ""},
		"file on loopback": {point("file://localhost/etc/passwd"), "not https"},
		"script":           {point("javascript:alert(1)"), ""},
		"flag":             {point("--incognito"), ""},
		"no host":          {point("http:$(calc.exe)"), ""},
		"shell host":       {point("https://$(calc.exe)/x"), ""},
		"user":             {point("https://login.example.com@evil.example.com/"), "no plain host"},
		"not encrypted":    {point("http://login.example.com/"), ""},
		"metadata service": {point("https://169.254.169.254/"), ""},
		"token inside": {func(a *authority) {
			a.meta = func(m map[string]any) { m["token_endpoint"] = "https://169.254.169.254/" }
		}, "non-public"},
		"issuer inside": {func(a *authority) {
			a.about = func(m *oauthex.ProtectedResourceMetadata) { m.AuthorizationServers[0] = "http://169.254.169.254" }
		}, "not use"},
		"other resource": {func(a *authority) {
			a.about = func(m *oauthex.ProtectedResourceMetadata) { m.Resource = "https://bank.example.com" }
		}, "not about this server"},
		"other issuer": {func(a *authority) { a.meta = func(m map[string]any) { m["issuer"] = "https://evil.example.com" } }, "does not match"},
		"without PKCE": {func(a *authority) { a.meta = func(m map[string]any) { delete(m, "code_challenge_methods_supported") } }, "PKCE"},
		"endless":      {func(a *authority) { a.meta = func(m map[string]any) { m["x"] = strings.Repeat("x", 2*maxOAuth) } }, "does not say how"},
		"mix-up":       {func(a *authority) { a.comeback = func(v url.Values) { v.Set("iss", "https://evil.example.com") } }, "is not used"},
		"no issuer":    {func(a *authority) { a.comeback = func(v url.Values) { v.Del("iss") } }, "is not used"},
		"no":           {func(a *authority) { a.comeback = func(v url.Values) { v.Del("code"); v.Set("error", "access_denied") } }, "access_denied"},
		"stolen code":  {func(a *authority) { a.comeback = func(v url.Values) { v.Set("code", "code-of-somebody-else") } }, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			a, store := newAuthority(t), &memory{}
			c.change(a)
			shown := false
			open := browse(t, http.StatusOK)
			err := New(Options{Servers: []Server{a.server(OAuth{})}, Tokens: store}).Login(within(t), "up", func(s string) {
				shown = true
				open(s)
			})
			if err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "code-of") {
				t.Errorf("%v", err)
			}
			if shown != (a.comeback != nil) {
				t.Errorf("the browser was opened: %v; %v", shown, err)
			}
			if store.login("up", a.resource).Access != "" {
				t.Error("it is logged in")
			}
		})
	}
}

// An answer with another state is not the one that is waited for.
func TestLoginWithAWrongState(t *testing.T) {
	a, store := newAuthority(t), &memory{}
	a.comeback = func(v url.Values) { v.Set("state", "guessed") }
	ctx, cancel := context.WithCancel(within(t))
	left := make(chan struct{})
	err := New(Options{Servers: []Server{a.server(OAuth{})}, Tokens: store}).Login(ctx, "up", func(address string) {
		go func() {
			defer close(left)
			visit(t, address, http.StatusBadRequest)
			cancel()
		}()
	})
	<-left
	if !errors.Is(err, context.Canceled) || a.count("POST /token authorization_code") > 0 {
		t.Errorf("%v", err)
	}
}

// A login that nobody finishes ends after five minutes, and its address with it.
func TestUnfinishedLoginsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := (&comeback{got: make(chan url.Values)}).wait(t.Context())
		if took := time.Since(began); took != 5*time.Minute || err == nil || !strings.Contains(err.Error(), "nobody has logged in within 5m0s") {
			t.Errorf("%v after %v", err, took)
		}
	})
	a, store := newAuthority(t), &memory{}
	b := New(Options{Servers: []Server{a.server(OAuth{})}, Tokens: store})
	ctx, cancel := context.WithCancel(within(t))
	back := ""
	err := b.Login(ctx, "up", func(address string) {
		if at, err := url.Parse(address); err == nil {
			back = at.Query().Get("redirect_uri")
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if resp, err := http.Get(back); back == "" || err == nil {
		t.Errorf("the address %q is still listened at: %+v", back, resp)
	}
	if err := b.Login(within(t), "up", browse(t, http.StatusOK)); err != nil {
		t.Errorf("the next login: %v", err)
	}
}

// A key of the configuration is used in the place of a login.
func TestConfiguredKeyWins(t *testing.T) {
	a, store, h := newAuthority(t), &memory{}, &host{}
	with := a.server(OAuth{})
	with.Endpoint = func(context.Context) (Endpoint, error) {
		return Endpoint{URL: a.resource, Headers: map[string]string{"authorization": "Bearer mine"}}, nil
	}
	if err := New(Options{Servers: []Server{a.server(OAuth{})}, Tokens: store}).Login(within(t), "up", browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	a.bearers = nil
	a.mu.Unlock()
	b, s := open(t, h, Options{Servers: []Server{with}, Tokens: store})
	_, _ = s.Tools(within(t))
	awaitStatus(t, h.board, "up", "failed")
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, got := range a.bearers {
		if got != "Bearer mine" {
			t.Errorf("the server saw %q", got)
		}
	}
	if err := b.Login(within(t), "up", func(string) {}); err == nil || !strings.Contains(err.Error(), "the configuration names a key") {
		t.Errorf("%v", err)
	}
}

// A token goes to the server that it was made for: not to another address of the
// same name, nor where that server redirects to, nor to what a client brings along.
func TestTokensStayWithTheirServer(t *testing.T) {
	a, store := newAuthority(t), &memory{}
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
	_, _ = s.Tools(within(t))
	awaitStatus(t, h.board, "up", "requires-auth")
	if b.clientFor(broughtServer(core.ServerSpec{Name: "up", URL: a.resource}), Endpoint{URL: a.resource}) != b.client {
		t.Error("a client's server has a login")
	}
	// The server itself redirects.
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+"/mcp", http.StatusTemporaryRedirect)
	}))
	defer away.Close()
	l := store.login("up", a.resource)
	l.Server = away.URL + "/mcp"
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	h = &host{}
	_, s = open(t, h, Options{Servers: []Server{{Name: "up", Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{URL: away.URL + "/mcp"}, nil }}}, Tokens: &memory{kept: map[string][]byte{"up": text}}})
	_, _ = s.Tools(within(t))
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

// A logout ends what was made with the login, here and there.
func TestLogout(t *testing.T) {
	a, store := newAuthority(t), &memory{}
	b, h, _ := loggedIn(t, a, store)
	if err := b.Logout(within(t), "up"); err != nil {
		t.Fatal(err)
	}
	if item := awaitStatus(t, h.board, "up", "requires-auth"); item.LoggedIn {
		t.Errorf("%+v", item)
	}
	if kept, _ := store.Load(t.Context(), "up"); kept != nil {
		t.Errorf("kept: %s", kept)
	}
	a.mu.Lock()
	for s, k := range a.tokens {
		if !k.dead {
			t.Errorf("%.8s… is good for something", s)
		}
	}
	a.mu.Unlock()
	if err := b.Logout(within(t), "up"); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := b.Logout(within(t), "nobody"); err == nil {
		t.Error("nobody has logged out")
	}
}

// A relay uses the login of its server. The client's own key is not handed on, nor
// is what the server says of ours.
func TestRelayWithALogin(t *testing.T) {
	a, store := newAuthority(t), &memory{}
	b := New(Options{Servers: []Server{a.server(OAuth{})}, Tokens: store})
	relay, _ := b.Relay("up", nil)
	face := relay.HTTP(t.TempDir(), func(*http.Request) core.Principal { return core.Local })
	defer face.Close()
	ask := func() *httptest.ResponseRecorder {
		req := httptest.NewRequest(http.MethodPost, "/mcp/up", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)).WithContext(within(t))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer of-the-client")
		w := httptest.NewRecorder()
		face.ServeHTTP(w, req)
		return w
	}
	w := ask()
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"id":7`) || !strings.Contains(w.Body.String(), "wants a login: dragoman mcp-servers login up") || w.Header().Get("Www-Authenticate") != "" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	if err := b.Login(within(t), "up", browse(t, http.StatusOK)); err != nil {
		t.Fatal(err)
	}
	a.end() // so that it is renewed on the way
	if w = ask(); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"serverInfo"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.Contains(a.bearers, "Bearer of-the-client") {
		t.Error("the client's key was handed on")
	}
	for s := range a.tokens {
		if strings.Contains(w.Body.String(), s) || strings.Contains(fmt.Sprint(w.Header()), s) {
			t.Error("the client was told the token")
		}
	}
}
