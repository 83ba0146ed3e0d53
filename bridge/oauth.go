package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"dragoman/core/display"
)

// OAuth is what the configuration says of logging in to a server. The zero value
// leaves all to the server.
type OAuth struct {
	// ClientID and ClientSecret are of a client that was registered by hand; without
	// them one is registered at each login, where the server allows that.
	ClientID, ClientSecret string
	// Issuer is the authorization server that the client belongs to. Empty: the one that
	// the first login meets.
	Issuer string
	Scopes []string // empty: those that the server names
	Port   int      // of the address that the browser comes back to; 0: any
}

// TokenStore keeps what logins gave, as text that only a Wallet understands.
type TokenStore interface {
	// Load returns what is kept for a server; nil: nothing.
	Load(ctx context.Context, server string) ([]byte, error)
	// Change replaces what is kept for a server by what change makes of it; nil forgets
	// it. No other Change of that server runs meanwhile, in whatever process. change may
	// speak over the network.
	Change(ctx context.Context, server string, change func(kept []byte) ([]byte, error)) error
}

// login is what a login gave, and whom it belongs to.
type login struct {
	Server    string    `json:"server"`   // its address: a token goes nowhere else
	Resource  string    `json:"resource"` // as the server calls itself
	Issuer    string    `json:"issuer"`
	TokenURL  string    `json:"token_url"`
	RevokeURL string    `json:"revoke_url,omitempty"`
	Client    client    `json:"client"`
	Scopes    []string  `json:"scopes,omitempty"` // that were granted
	Wanted    []string  `json:"wanted,omitempty"` // that the server has missed since
	Access    string    `json:"access,omitempty"`
	Refresh   string    `json:"refresh,omitempty"`
	Expires   time.Time `json:"expires,omitzero"` // of Access; zero: not known
}

// parseLogin reads what is kept; of another address, or none, it is nothing.
func parseLogin(kept []byte, server string) login {
	var l login
	if json.Unmarshal(kept, &l) != nil || l.Server != server {
		return login{}
	}
	return l
}

// earlyBy is how long before its end a token is renewed.
const earlyBy = 10 * time.Second

// stale reports whether the token is over, or nearly.
func (l login) stale() bool { return !l.Expires.IsZero() && time.Until(l.Expires) < earlyBy }

// over reports whether the token is over.
func (l login) over() bool { return !l.Expires.IsZero() && time.Until(l.Expires) <= 0 }

// RequiredError says that a server wants a login, or one with more rights.
type RequiredError struct {
	Server string
	More   bool     // there is a login, whose rights do not suffice
	Scopes []string // that are missing, as far as it says
}

func (e *RequiredError) Error() string {
	what := "it wants a login"
	if e.More {
		what += " with more rights"
	}
	if len(e.Scopes) > 0 {
		what += " (" + display.Word(strings.Join(e.Scopes, " ")) + ")"
	}
	return what + ": dragoman mcp-servers login " + display.Word(e.Server)
}

// bearer gives the requests to one server the token of its login. One that has run
// out is renewed before, one that is refused is renewed once and the request
// repeated.
type bearer struct {
	server string
	url    *url.URL
	store  TokenStore
	client *http.Client  // without the token
	turn   chan struct{} // holds the one token of whoever loads or renews

	mu     sync.Mutex // guards the fields below
	loaded bool
	held   login          // without Access: there is none
	wants  *RequiredError // the last that was heard of the server; nil: it wants none
}

// RoundTrip implements http.RoundTripper. Its error may be a *RequiredError.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	l, err := b.current(req.Context())
	if err == nil && (req.URL.Scheme != b.url.Scheme || req.URL.Host != b.url.Host) {
		err = errors.New("the token of a login is sent to its own server only")
	}
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	resp, err := b.send(req, req.Body, l)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		resp, err = b.again(req, resp, l)
	}
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusForbidden && l.Access != "" {
		if scopes, ok := missing(resp); ok {
			discard(resp)
			err := b.refused(&RequiredError{b.server, true, scopes})
			if lost := b.want(req.Context(), scopes); lost != nil {
				err = fmt.Errorf("%w (which ones could not be kept: %v)", err, lost)
			}
			return nil, err
		}
	}
	b.heard(nil)
	return resp, nil
}

// again repeats a request that was refused, if there is another token by now.
func (b *bearer) again(req *http.Request, refused *http.Response, l login) (*http.Response, error) {
	discard(refused)
	newer, err := b.renew(req.Context(), l.Access)
	if err != nil {
		return nil, err
	}
	if newer.Access == "" || req.Body != nil && req.GetBody == nil {
		return nil, b.refused(&RequiredError{Server: b.server})
	}
	body := req.Body
	if req.GetBody != nil {
		if body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	resp, err := b.send(req, body, newer)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		discard(resp)
		return nil, b.refused(&RequiredError{Server: b.server})
	}
	return resp, err
}

func (b *bearer) send(req *http.Request, body io.ReadCloser, l login) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Body = body
	if l.Access != "" {
		req.Header.Set("Authorization", "Bearer "+l.Access)
	}
	return b.client.Transport.RoundTrip(req)
}

// discard ends an answer that nobody reads.
func discard(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	resp.Body.Close()
}

// missing is the rights that a refusal names; false: it is not for want of any.
func missing(resp *http.Response) (scopes []string, ok bool) {
	c := challengeOf(resp)
	scopes = strings.Fields(c["scope"])
	return scopes, c["error"] == "insufficient_scope" || c["error"] == "" && len(scopes) > 0
}

// challengeOf is what a refusal says of the login that is wanted.
func challengeOf(resp *http.Response) map[string]string {
	all, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil // it is as good as none
	}
	for _, c := range all {
		if c.Scheme == "bearer" {
			return c.Params
		}
	}
	return nil
}

// refused notes that the server wants a login.
func (b *bearer) refused(e *RequiredError) error {
	b.heard(e)
	return e
}

func (b *bearer) heard(wants *RequiredError) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wants = wants
}

func (b *bearer) hold(l login) login {
	if l.Access == "" {
		l = login{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loaded, b.held = true, l
	return l
}

// current is the login to use now; without Access there is none.
func (b *bearer) current(ctx context.Context) (login, error) {
	b.mu.Lock()
	l, loaded := b.held, b.loaded
	b.mu.Unlock()
	if loaded && !l.stale() {
		return l, nil
	}
	return b.renew(ctx, "")
}

// renew is the login to use in the place of one whose token was refused ("": it is
// only not known, or stale). It is renewed unless somebody else has done that.
func (b *bearer) renew(ctx context.Context, refused string) (login, error) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return login{}, context.Cause(ctx)
	}
	kept, err := b.store.Load(ctx, b.server)
	if err != nil {
		return login{}, fmt.Errorf("the login of the MCP server %s cannot be read: %w", b.server, err)
	}
	l := parseLogin(kept, b.url.String())
	if l.Access == "" || l.Access != refused && !l.stale() {
		return b.hold(l), nil
	}
	if l.Refresh == "" {
		if l.Access == refused || l.over() {
			l = login{}
		}
		return b.hold(l), nil
	}
	// What was begun is ended, though nobody waits: a token that can be used once is lost with its answer.
	ctx, cancel := context.WithTimeout(context.Background(), 2*oauthFor)
	defer cancel()
	err = b.store.Change(ctx, b.server, func(kept []byte) ([]byte, error) {
		l = parseLogin(kept, b.url.String())
		if l.Access == "" || l.Access != refused && !l.stale() {
			return kept, nil // another process was faster
		}
		renewed, err := l.refresh(ctx, b.url)
		var said *oauthError
		if errors.As(err, &said) && said.final() {
			renewed, err = l, nil
			renewed.Access, renewed.Refresh = "", ""
		}
		if err != nil {
			return nil, err
		}
		l = renewed
		return json.Marshal(l)
	})
	if err != nil && l.Access != refused && l.Access != "" && !l.over() {
		return l, nil // it may do for a while
	}
	if err != nil {
		return login{}, fmt.Errorf("the login of the MCP server %s could not be renewed: %w; if that does not pass: dragoman mcp-servers login %s", b.server, err, display.Word(b.server))
	}
	return b.hold(l), nil
}

// want remembers which rights the next login is to ask for.
func (b *bearer) want(ctx context.Context, scopes []string) error {
	return b.store.Change(ctx, b.server, func(kept []byte) ([]byte, error) {
		l := parseLogin(kept, b.url.String())
		if l.Access == "" || len(union(l.Wanted, scopes)) == len(l.Wanted) {
			return kept, nil
		}
		l.Wanted = union(l.Wanted, scopes)
		return json.Marshal(l)
	})
}

// union is the one and what else is in the other, in their order.
func union(one []string, other ...[]string) []string {
	all := slices.Clone(one)
	for _, list := range other {
		for _, s := range list {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}
