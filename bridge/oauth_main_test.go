package bridge

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
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// authority is an authorization server, and the MCP server that it gives tokens for.
// Tests change its fields before they use it.
type authority struct {
	url      string // of the authorization server
	resource string // of the MCP server

	lifetime time.Duration
	meta     func(m map[string]any)                   // changes the metadata
	about    func(*oauthex.ProtectedResourceMetadata) // changes what the MCP server says
	comeback func(url.Values)                         // changes what the browser comes back with
	sse      bool                                     // the MCP server speaks the transport of 2024-11-05
	known    map[string]string                        // secrets of clients that were registered by hand

	mu      sync.Mutex          // guards the fields below
	clients map[string][]string // redirect addresses, by id
	codes   map[string]url.Values
	tokens  map[string]*token // access tokens
	renewal map[string]*token // refresh tokens
	seen    []string          // what was asked of the authorization server
	bearers []string          // that the MCP server was shown
	needs   []string          // the rights that it wants
}

type token struct {
	scopes   []string
	resource string
	expires  time.Time
	dead     bool
}

func newAuthority(t *testing.T) *authority {
	a := &authority{
		lifetime: time.Hour, known: map[string]string{},
		clients: map[string][]string{}, codes: map[string]url.Values{}, tokens: map[string]*token{}, renewal: map[string]*token{},
	}
	as := httptest.NewServer(a.handler())
	t.Cleanup(as.Close)
	a.url = as.URL
	rs := httptest.NewServer(nil)
	t.Cleanup(rs.Close)
	a.resource = rs.URL + "/mcp"
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		m := &oauthex.ProtectedResourceMetadata{Resource: a.resource, AuthorizationServers: []string{a.url}}
		if a.about != nil {
			a.about(m)
		}
		auth.ProtectedResourceMetadataHandler(m).ServeHTTP(w, r)
	})
	one := func(*http.Request) *mcp.Server { return sdkServer() }
	streamable, sse := mcp.NewStreamableHTTPHandler(one, nil), mcp.NewSSEHandler(one, nil)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.bearers = append(a.bearers, r.Header.Get("Authorization"))
		needs := a.needs
		a.mu.Unlock()
		served := http.Handler(streamable)
		if a.sse {
			served = sse
		}
		auth.RequireBearerToken(a.verify, &auth.RequireBearerTokenOptions{
			ResourceMetadataURL: rs.URL + "/.well-known/oauth-protected-resource/mcp", Scopes: needs,
		})(served).ServeHTTP(w, r)
	})
	rs.Config.Handler = mux
	return a
}

func (a *authority) verify(_ context.Context, text string, _ *http.Request) (*auth.TokenInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.tokens[text]
	if k == nil || k.dead || k.resource != a.resource {
		return nil, fmt.Errorf("not one of ours: %w", auth.ErrInvalidToken)
	}
	return &auth.TokenInfo{Scopes: k.scopes, Expiration: k.expires, UserID: "u"}, nil
}

func (a *authority) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		m := map[string]any{
			"issuer": a.url, "authorization_endpoint": a.url + "/authorize?tenant=1", "token_endpoint": a.url + "/token", "registration_endpoint": a.url + "/register",
			"revocation_endpoint": a.url + "/revoke", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"authorization_response_iss_parameter_supported": true,
		}
		if a.meta != nil {
			a.meta(m)
		}
		answer(w, http.StatusOK, m)
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var m oauthex.ClientRegistrationMetadata
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.TokenEndpointAuthMethod != "none" || m.ApplicationType != "native" {
			answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_client_metadata"})
			return
		}
		id := "c-" + rand.Text()
		a.mu.Lock()
		a.clients[id] = m.RedirectURIs
		a.mu.Unlock()
		answer(w, http.StatusCreated, map[string]any{"client_id": id, "redirect_uris": m.RedirectURIs, "token_endpoint_auth_method": "none"})
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

// authorize is where a person agrees; here everybody does.
func (a *authority) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.mu.Lock()
	defer a.mu.Unlock()
	_, byHand := a.known[q.Get("client_id")]
	switch {
	case q.Get("tenant") != "1", q.Get("response_type") != "code", q.Get("code_challenge_method") != "S256", q.Get("resource") != a.resource,
		!byHand && !slices.Contains(a.clients[q.Get("client_id")], q.Get("redirect_uri")):
		http.Error(w, "a wrong request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := "code-" + rand.Text()
	a.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {a.url}}
	if a.comeback != nil {
		a.comeback(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (a *authority) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, secret, basic := r.BasicAuth()
	if !basic {
		id = r.PostForm.Get("client_id")
	}
	if want, byHand := a.known[id]; byHand && secret != want {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	refuse := func() {
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "no such thing: " + r.PostForm.Get("code") + r.PostForm.Get("refresh_token")})
	}
	k := &token{expires: time.Now().Add(a.lifetime), resource: r.PostForm.Get("resource")}
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		q := a.codes[r.PostForm.Get("code")]
		delete(a.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if q == nil || q.Get("client_id") != id || q.Get("redirect_uri") != r.PostForm.Get("redirect_uri") || q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
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
		old.dead = true // each is good for one time
		k.scopes = old.scopes
	default:
		answer(w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
		return
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	a.tokens[access] = k
	a.renewal[refresh] = &token{scopes: k.scopes}
	answer(w, http.StatusOK, map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": int(a.lifetime / time.Second), "refresh_token": refresh, "scope": strings.Join(k.scopes, " "),
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// want changes the rights that the MCP server wants.
func (a *authority) want(scopes ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.needs = scopes
}

// end ends all access tokens, as time does.
func (a *authority) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.tokens {
		k.dead = true
	}
}

// count is how often something was asked of the authorization server.
func (a *authority) count(what string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.seen {
		if s == what {
			n++
		}
	}
	return n
}

// secrets are the tokens and codes that it gave.
func (a *authority) secrets() (all []string) {
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

// server is the MCP server in a configuration.
func (a *authority) server(o OAuth) Server {
	return Server{Name: "up", Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{URL: a.resource, OAuth: o, SSE: a.sse}, nil }}
}

// browse is the browser: it goes wherever it is sent, and should end at a page with
// the status.
func browse(t *testing.T, status int) func(string) {
	return func(address string) {
		done := make(chan struct{})
		t.Cleanup(func() { <-done })
		go func() {
			defer close(done)
			visit(t, address, status)
		}()
	}
}

func visit(t *testing.T, address string, status int) {
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

// memory is a TokenStore.
type memory struct {
	turn sync.Mutex // held while a Change runs
	mu   sync.Mutex
	kept map[string][]byte
}

func (m *memory) Load(_ context.Context, server string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[server], nil
}

func (m *memory) Change(ctx context.Context, server string, change func([]byte) ([]byte, error)) error {
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

func (m *memory) login(server, url string) login {
	kept, _ := m.Load(context.Background(), server)
	return parseLogin(kept, url)
}
