// Package logintest provides an authorization server for tests, and an MCP server that requires
// its tokens.
package logintest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Authority is an authorization server, and the MCP server that its tokens are for. Tests change
// its fields before they use it.
type Authority struct {
	URL      string // of the authorization server
	Resource string // of the MCP server

	Lifetime time.Duration                            // of an access token
	Meta     func(m map[string]any)                   // changes the metadata
	About    func(*oauthex.ProtectedResourceMetadata) // changes the metadata of the MCP server
	Return   func(url.Values)                         // changes the parameters that the browser returns with
	MCP      http.Handler                             // handles requests with a token
	Known    map[string]string                        // secrets of clients that were registered by hand

	mu      sync.Mutex          // guards the fields below
	clients map[string][]string // redirect addresses, by id
	codes   map[string]url.Values
	tokens  map[string]*token // access tokens
	renewal map[string]*token // refresh tokens
	seen    []string          // requests to the authorization server
	bearers []string          // received by the MCP server
	needs   []string          // the rights that it requires
}

type token struct {
	scopes   []string
	resource string
	expires  time.Time
	dead     bool
}

// New starts an authority with a handler. Both end with the test.
func New(t testing.TB, behind http.Handler) *Authority {
	a := &Authority{
		Lifetime: time.Hour, MCP: behind, Known: map[string]string{},
		clients: map[string][]string{}, codes: map[string]url.Values{},
		tokens: map[string]*token{}, renewal: map[string]*token{},
	}
	as := httptest.NewServer(a.handler())
	t.Cleanup(as.Close)
	a.URL = as.URL
	rs := httptest.NewServer(nil)
	t.Cleanup(rs.Close)
	a.Resource = rs.URL + "/mcp"
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		m := &oauthex.ProtectedResourceMetadata{Resource: a.Resource, AuthorizationServers: []string{a.URL}}
		if a.About != nil {
			a.About(m)
		}
		auth.ProtectedResourceMetadataHandler(m).ServeHTTP(w, r)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.bearers = append(a.bearers, r.Header.Get("Authorization"))
		needs := a.needs
		a.mu.Unlock()
		auth.RequireBearerToken(a.verify, &auth.RequireBearerTokenOptions{
			ResourceMetadataURL: rs.URL + "/.well-known/oauth-protected-resource/mcp", Scopes: needs,
		})(a.MCP).ServeHTTP(w, r)
	})
	rs.Config.Handler = mux
	return a
}

func (a *Authority) verify(_ context.Context, text string, _ *http.Request) (*auth.TokenInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.tokens[text]
	if k == nil || k.dead || k.resource != a.Resource {
		return nil, fmt.Errorf("not one of ours: %w", auth.ErrInvalidToken)
	}
	return &auth.TokenInfo{Scopes: k.scopes, Expiration: k.expires, UserID: "u"}, nil
}

func (a *Authority) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		m := map[string]any{
			"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize?tenant=1",
			"token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/register",
			"revocation_endpoint": a.URL + "/revoke", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported":               []string{"S256"},
			"authorization_response_iss_parameter_supported": true,
		}
		if a.Meta != nil {
			a.Meta(m)
		}
		answer(w, http.StatusOK, m)
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var m oauthex.ClientRegistrationMetadata
		err := json.NewDecoder(r.Body).Decode(&m)
		if err != nil || m.TokenEndpointAuthMethod != "none" || m.ApplicationType != "native" {
			answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_client_metadata"})
			return
		}
		id := "c-" + rand.Text()
		a.mu.Lock()
		a.clients[id] = m.RedirectURIs
		a.mu.Unlock()
		answer(w, http.StatusCreated, map[string]any{
			"client_id": id, "redirect_uris": m.RedirectURIs, "token_endpoint_auth_method": "none",
		})
	})
	mux.HandleFunc("/authorize", a.authorize)
	mux.HandleFunc("/token", a.token)
	mux.HandleFunc("/revoke", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, all := range []map[string]*token{a.tokens, a.renewal} {
			if k := all[r.PostFormValue("token")]; k != nil {
				k.dead = true
			}
		}
		w.WriteHeader(http.StatusOK)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		a.mu.Lock()
		a.seen = append(a.seen, r.Method+" "+r.URL.Path+" "+r.PostForm.Get("grant_type"))
		a.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

// authorize agrees in place of a person.
func (a *Authority) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.mu.Lock()
	defer a.mu.Unlock()
	_, byHand := a.Known[q.Get("client_id")]
	switch {
	case q.Get("tenant") != "1", q.Get("response_type") != "code", q.Get("code_challenge_method") != "S256",
		q.Get("resource") != a.Resource,
		!byHand && !slices.Contains(a.clients[q.Get("client_id")], q.Get("redirect_uri")):
		http.Error(w, "a wrong request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := "code-" + rand.Text()
	a.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {a.URL}}
	if a.Return != nil {
		a.Return(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (a *Authority) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, secret, basic := r.BasicAuth()
	if !basic {
		id = r.PostForm.Get("client_id")
	}
	if want, byHand := a.Known[id]; byHand && secret != want {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	refuse := func() {
		answer(w, http.StatusBadRequest, map[string]string{
			"error":             "invalid_grant",
			"error_description": "no such thing: " + r.PostForm.Get("code") + r.PostForm.Get("refresh_token"),
		})
	}
	k := &token{expires: time.Now().Add(a.Lifetime), resource: r.PostForm.Get("resource")}
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		q := a.codes[r.PostForm.Get("code")]
		delete(a.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if q == nil || q.Get("client_id") != id || q.Get("redirect_uri") != r.PostForm.Get("redirect_uri") ||
			q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refuse()
			return
		}
		k.scopes = strings.Fields(q.Get("scope"))
	case "refresh_token":
		old := a.renewal[r.PostForm.Get("refresh_token")]
		if old == nil || old.dead {
			refuse()
			return
		}
		old.dead = true // each may be used once
		k.scopes = old.scopes
	default:
		answer(w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
		return
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	a.tokens[access] = k
	a.renewal[refresh] = &token{scopes: k.scopes}
	answer(w, http.StatusOK, map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": int(a.Lifetime / time.Second),
		"refresh_token": refresh, "scope": strings.Join(k.scopes, " "),
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// Want changes the rights that the MCP server requires.
func (a *Authority) Want(scopes ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.needs = scopes
}

// End makes all access tokens expire.
func (a *Authority) End() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.tokens {
		k.dead = true
	}
}

// Count returns the number of requests of a kind to the authorization server.
func (a *Authority) Count(what string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.seen {
		if s == what {
			n++
		}
	}
	return n
}

// Secrets returns the tokens and codes that it issued.
func (a *Authority) Secrets() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range []map[string]*token{a.tokens, a.renewal} {
		for s := range of {
			all = append(all, s)
		}
	}
	for s := range a.codes {
		all = append(all, s)
	}
	return all
}

// EndRenewals makes all refresh tokens invalid.
func (a *Authority) EndRenewals() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.renewal = map[string]*token{}
}

// Live returns the valid access tokens.
func (a *Authority) Live() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for s, k := range a.tokens {
		if !k.dead {
			all = append(all, s)
		}
	}
	return all
}

// Shown returns the values of Authorization that the MCP server has received since the last call.
func (a *Authority) Shown() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.bearers
	a.bearers = nil
	return all
}

// Browse returns a browser: it follows all redirects, and should end at a page with the status.
// The test waits for its end.
func Browse(t testing.TB, status int) func(string) {
	return func(address string) {
		done := make(chan struct{})
		t.Cleanup(func() { <-done })
		go func() {
			defer close(done)
			Visit(t, address, status)
		}()
	}
}

// Visit is Browse for one address. It blocks until the page has arrived.
func Visit(t testing.TB, address string, status int) {
	resp, err := http.Get(address)
	if err != nil {
		t.Errorf("browse: %v", err)
		return
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != status {
		t.Errorf("the browser sees %s: %s", resp.Status, text)
	}
}

// Memory is a store of logins. The zero value is empty.
type Memory struct {
	turn sync.Mutex // held while a Change runs
	mu   sync.Mutex
	kept map[string][]byte
}

// Load returns the stored text of a server.
func (m *Memory) Load(_ context.Context, server string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[server], nil
}

// Change replaces the stored text of a server by the result of change.
func (m *Memory) Change(ctx context.Context, server string, change func([]byte) ([]byte, error)) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	old, _ := m.Load(ctx, server)
	now, err := change(old)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string][]byte{}
	}
	m.kept[server] = now
	return nil
}

// Put stores a text for a server.
func (m *Memory) Put(server string, text []byte) {
	_ = m.Change(context.Background(), server, func([]byte) ([]byte, error) { return text, nil }) // it never fails
}

// Login is a part of a stored login.
type Login struct {
	Server          string // its address
	Access, Refresh string
	Scopes, Wanted  []string
}

// Login returns the stored login for a server at an address.
func (m *Memory) Login(server, address string) (l Login) {
	kept, _ := m.Load(context.Background(), server)
	if json.Unmarshal(kept, &l) != nil || l.Server != address {
		return Login{}
	}
	return l
}
