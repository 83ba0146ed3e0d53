package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"dragoman/core/display"
)

// RequiredError reports that a server requires a login, or one with more rights.
type RequiredError struct {
	Server string
	More   bool     // the rights of the login do not suffice
	Scopes []string // the missing rights, if the server names them
}

func (e *RequiredError) Error() string {
	what := "it requires a login"
	if e.More {
		what += " with more rights"
	}
	if len(e.Scopes) > 0 {
		what += " (" + display.Word(strings.Join(e.Scopes, " ")) + ")"
	}
	return what + ": dragoman mcp-servers login " + display.Word(e.Server)
}

// bearer adds the token of a login to the requests to one server. A token that is about to
// expire is renewed first. If one is refused, it is renewed and the request repeated, once.
type bearer struct {
	server string
	url    *url.URL
	store  Store
	client *http.Client  // without the token
	turn   chan struct{} // holds the one token of the goroutine that loads or renews

	mu     sync.Mutex // guards the fields below
	loaded bool
	held   record         // without Access there is no login
	wants  *RequiredError // the login that the server has required last; nil: none
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

// again repeats a request that was refused, if the token has changed since.
func (b *bearer) again(req *http.Request, refused *http.Response, l record) (*http.Response, error) {
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

func (b *bearer) send(req *http.Request, body io.ReadCloser, l record) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Body = body
	if l.Access != "" {
		req.Header.Set("Authorization", "Bearer "+l.Access)
	}
	return b.client.Transport.RoundTrip(req)
}

// discard closes a response whose body is not needed.
func discard(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // the connection can then be used again
	resp.Body.Close()
}

// missing returns the rights that a refusal requires; false: it has another reason.
func missing(resp *http.Response) (scopes []string, ok bool) {
	c := challengeOf(resp)
	scopes = strings.Fields(c["scope"])
	return scopes, c["error"] == "insufficient_scope" || c["error"] == "" && len(scopes) > 0
}

// challengeOf returns the parameters of the Bearer challenge of a refusal; nil: there is
// none, or it cannot be read.
func challengeOf(resp *http.Response) map[string]string {
	all, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil
	}
	for _, c := range all {
		if c.Scheme == "bearer" {
			return c.Params
		}
	}
	return nil
}

// refused records that the server requires a login.
func (b *bearer) refused(e *RequiredError) error {
	b.heard(e)
	return e
}

func (b *bearer) heard(wants *RequiredError) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wants = wants
}

func (b *bearer) hold(l record) record {
	if l.Access == "" {
		l = record{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loaded, b.held = true, l
	return l
}

// current returns the login to use now. Without Access there is none.
func (b *bearer) current(ctx context.Context) (record, error) {
	b.mu.Lock()
	l, loaded := b.held, b.loaded
	b.mu.Unlock()
	if loaded && !l.stale() {
		return l, nil
	}
	return b.renew(ctx, "")
}

// renew returns the login to use in place of one whose token was refused. If refused is empty,
// the login is only not loaded yet, or stale. One caller renews it for all.
func (b *bearer) renew(ctx context.Context, refused string) (record, error) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return record{}, context.Cause(ctx)
	}
	kept, err := b.store.Load(ctx, b.server)
	if err != nil {
		return record{}, fmt.Errorf("the login of the MCP server %s cannot be read: %w", b.server, err)
	}
	l := parseRecord(kept, b.url.String())
	if l.Access == "" || l.Access != refused && !l.stale() {
		return b.hold(l), nil
	}
	if l.Refresh == "" {
		if l.Access == refused || l.over() {
			l = record{}
		}
		return b.hold(l), nil
	}
	// A renewal is completed even if the caller leaves: a single-use token is lost without its
	// answer.
	ctx, cancel := context.WithTimeout(context.Background(), 2*answerFor)
	defer cancel()
	err = b.store.Change(ctx, b.server, func(kept []byte) ([]byte, error) {
		l = parseRecord(kept, b.url.String())
		if l.Access == "" || l.Access != refused && !l.stale() {
			return kept, nil // another process was faster
		}
		renewed, err := l.refresh(ctx, b.url)
		var said *refusal
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
		return l, nil // the old token is still valid for a moment
	}
	if err != nil {
		return record{}, fmt.Errorf(
			"the login of the MCP server %s could not be renewed: %w; if that does not pass: dragoman mcp-servers login %s",
			b.server,
			err,
			display.Word(b.server),
		)
	}
	return b.hold(l), nil
}

// want stores the rights that the next login is to request.
func (b *bearer) want(ctx context.Context, scopes []string) error {
	return b.store.Change(ctx, b.server, func(kept []byte) ([]byte, error) {
		l := parseRecord(kept, b.url.String())
		if l.Access == "" || len(union(l.Wanted, scopes)) == len(l.Wanted) {
			return kept, nil
		}
		l.Wanted = union(l.Wanted, scopes)
		return json.Marshal(l)
	})
}
