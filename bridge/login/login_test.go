package login

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"dragoman/bridge/login/logintest"
)

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// anyServer is an MCP server without tools.
func anyServer() http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

func newAuthority(t *testing.T) *logintest.Authority { return logintest.New(t, anyServer()) }

// siteOf returns the MCP server of an authority.
func siteOf(a *logintest.Authority, c Config) Site {
	return Site{Server: "up", URL: a.Resource, Config: c}
}

func newWallet(s Store) *Wallet { return New(s, &http.Client{Transport: http.DefaultTransport}) }

// A server that requires no login is not taken for its own authorization server.
func TestServerWithoutALogin(t *testing.T) {
	s := httptest.NewServer(anyServer())
	defer s.Close()
	w := newWallet(&logintest.Memory{})
	if err := w.Login(within(t), Site{Server: "up", URL: s.URL}, func(string) { t.Error("the browser was opened") }); err == nil || !strings.Contains(err.Error(), "asks for no login") {
		t.Errorf("%v", err)
	}
}

// A client that was registered by hand is used unchanged, and only at its own authorization
// server.
func TestLoginOfARegisteredClient(t *testing.T) {
	for name, c := range map[string]struct {
		known []string
		o     Config
		fault string
	}{
		"basic":          {nil, Config{ClientID: "me", ClientSecret: "s3cret&=", Scopes: []string{"mine"}}, ""},
		"post":           {[]string{authPost}, Config{ClientID: "me", ClientSecret: "s3cret&="}, "invalid_client"}, // accepted only the other way
		"wrong":          {nil, Config{ClientID: "me", ClientSecret: "other"}, "invalid_client"},
		"another issuer": {nil, Config{ClientID: "me", ClientSecret: "s3cret&=", Issuer: "https://login.example.com"}, "belongs to https://login.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			a, store := newAuthority(t), &logintest.Memory{}
			a.Known["me"] = url.QueryEscape("s3cret&=")
			a.Meta = func(m map[string]any) {
				delete(m, "registration_endpoint")
				m["token_endpoint_auth_methods_supported"] = c.known
			}
			show := logintest.Browse(t, http.StatusOK)
			err := newWallet(store).Login(within(t), siteOf(a, c.o), show)
			if c.fault == "" {
				if l := store.Login("up", a.Resource); err != nil || l.Access == "" || !slices.Equal(l.Scopes, []string{"mine"}) {
					t.Errorf("%v, %q", err, l.Scopes)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v", err)
			}
			if c.o.Issuer != "" && a.Count("POST /token authorization_code") > 0 {
				t.Error("the secret was shown to another server")
			}
		})
	}
	a := newAuthority(t)
	a.Meta = func(m map[string]any) { delete(m, "registration_endpoint") }
	err := newWallet(&logintest.Memory{}).Login(within(t), siteOf(a, Config{}), func(string) {})
	if err == nil || !strings.Contains(err.Error(), "register a client there with the redirect address http://127.0.0.1:") {
		t.Errorf("%v", err)
	}
}

// The servers' data is not trusted: the browser opens no unusual address, no inside address is
// requested, and no foreign answer is accepted.
func TestLoginsThatAreRefused(t *testing.T) {
	point := func(to string) func(*logintest.Authority) {
		return func(a *logintest.Authority) { a.Meta = func(m map[string]any) { m["authorization_endpoint"] = to } }
	}
	for name, c := range map[string]struct {
		change func(*logintest.Authority)
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
		"token inside": {func(a *logintest.Authority) {
			a.Meta = func(m map[string]any) { m["token_endpoint"] = "https://169.254.169.254/" }
		}, "non-public"},
		"issuer inside": {func(a *logintest.Authority) {
			a.About = func(m *oauthex.ProtectedResourceMetadata) { m.AuthorizationServers[0] = "http://169.254.169.254" }
		}, "not use"},
		"other resource": {func(a *logintest.Authority) {
			a.About = func(m *oauthex.ProtectedResourceMetadata) { m.Resource = "https://bank.example.com" }
		}, "not about this server"},
		"other issuer": {func(a *logintest.Authority) {
			a.Meta = func(m map[string]any) { m["issuer"] = "https://evil.example.com" }
		}, "does not match"},
		"without PKCE": {func(a *logintest.Authority) {
			a.Meta = func(m map[string]any) { delete(m, "code_challenge_methods_supported") }
		}, "PKCE"},
		"endless": {func(a *logintest.Authority) {
			a.Meta = func(m map[string]any) { m["x"] = strings.Repeat("x", 2*maxAnswer) }
		}, "does not say how"},
		"mix-up": {func(a *logintest.Authority) {
			a.Return = func(v url.Values) { v.Set("iss", "https://evil.example.com") }
		}, "is not used"},
		"no issuer": {func(a *logintest.Authority) { a.Return = func(v url.Values) { v.Del("iss") } }, "is not used"},
		"no": {func(a *logintest.Authority) {
			a.Return = func(v url.Values) { v.Del("code"); v.Set("error", "access_denied") }
		}, "access_denied"},
		"stolen code": {func(a *logintest.Authority) { a.Return = func(v url.Values) { v.Set("code", "code-of-somebody-else") } }, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			a, store := newAuthority(t), &logintest.Memory{}
			c.change(a)
			shown := false
			open := logintest.Browse(t, http.StatusOK)
			err := newWallet(store).Login(within(t), siteOf(a, Config{}), func(s string) {
				shown = true
				open(s)
			})
			if err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "code-of") {
				t.Errorf("%v", err)
			}
			if shown != (a.Return != nil) {
				t.Errorf("the browser was opened: %v; %v", shown, err)
			}
			if store.Login("up", a.Resource).Access != "" {
				t.Error("it is logged in")
			}
		})
	}
}

// An answer with another state is not accepted.
func TestLoginWithAWrongState(t *testing.T) {
	a, store := newAuthority(t), &logintest.Memory{}
	a.Return = func(v url.Values) { v.Set("state", "guessed") }
	ctx, cancel := context.WithCancel(within(t))
	left := make(chan struct{})
	err := newWallet(store).Login(ctx, siteOf(a, Config{}), func(address string) {
		go func() {
			defer close(left)
			logintest.Visit(t, address, http.StatusBadRequest)
			cancel()
		}()
	})
	<-left
	if !errors.Is(err, context.Canceled) || a.Count("POST /token authorization_code") > 0 {
		t.Errorf("%v", err)
	}
}

// An unfinished login ends after five minutes, and so does its address.
func TestUnfinishedLoginsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := (&callback{got: make(chan url.Values)}).wait(t.Context())
		if took := time.Since(began); took != 5*time.Minute || err == nil || !strings.Contains(err.Error(), "the login was not finished within 5m0s") {
			t.Errorf("%v after %v", err, took)
		}
	})
	a, store := newAuthority(t), &logintest.Memory{}
	w, site := newWallet(store), siteOf(a, Config{})
	ctx, cancel := context.WithCancel(within(t))
	back := ""
	err := w.Login(ctx, site, func(address string) {
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
	if err := w.Login(within(t), site, logintest.Browse(t, http.StatusOK)); err != nil {
		t.Errorf("the next login: %v", err)
	}
}
