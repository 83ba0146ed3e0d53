package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// loginFor is how long a person may take in the browser.
const loginFor = 5 * time.Minute

// Login logs in to a server: show is given the address that a person is to open in a
// browser, and must not block. Login blocks until the browser comes back from there, five
// minutes at most, and keeps what came of it. Connections that waited for it are made.
func (b *Box) Login(ctx context.Context, server string, show func(address string)) error {
	a, e, err := b.account(ctx, server)
	if err == nil {
		err = a.login(ctx, e.OAuth, show)
	}
	if err != nil {
		return fmt.Errorf("log in to the MCP server %s: %w", server, err)
	}
	for _, u := range b.upstreams(server) {
		u.admitted()
	}
	return nil
}

// Logout takes the login to a server back, there and here, and ends the connections
// that were made with it. Where the server could not be told, the error says so, and
// the login is forgotten all the same.
func (b *Box) Logout(ctx context.Context, server string) error {
	a, _, err := b.account(ctx, server)
	if err != nil {
		return fmt.Errorf("log out of the MCP server %s: %w", server, err)
	}
	told, err := a.logout(ctx)
	for _, u := range b.upstreams(server) {
		u.dismissed()
	}
	if err != nil {
		return fmt.Errorf("log out of the MCP server %s: %w", server, err)
	}
	if told != nil {
		return fmt.Errorf("the login to the MCP server %s is forgotten here, but the server could not be told: %w", server, told)
	}
	return nil
}

// account finds the login of a server, which need not have been made.
func (b *Box) account(ctx context.Context, server string) (*bearer, Endpoint, error) {
	s, ok := b.find(server)
	if !ok {
		return nil, Endpoint{}, errors.New("there is none of that name in the configuration")
	}
	e, err := s.Endpoint(ctx)
	if err == nil && e.remote() {
		err = checkURL(e.URL)
	}
	if err != nil {
		return nil, e, err
	}
	a := b.bearer(s, e)
	switch {
	case !e.remote():
		return nil, e, errors.New("it is a program, which gets its keys through its environment")
	case e.keyed():
		return nil, e, errors.New("the configuration names a key for it (headers, Authorization), which is used in the place of a login; remove it first")
	case a == nil:
		return nil, e, errors.New("there is nowhere to keep a login")
	case a.url.Scheme != "https" && !isLoopback(a.url.Hostname()):
		return nil, e, errors.New("its address is not https, so that anybody on the way could read the login")
	}
	return a, e, nil
}

// upstreams are the connections to a server, of all sessions.
func (b *Box) upstreams(server string) []*upstream {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.live[server]), func(u *upstream) bool { return u.server.brought })
}

// login runs the authorization code grant with PKCE (Authorization).
func (b *bearer) login(ctx context.Context, o OAuth, show func(string)) error {
	kept, err := b.store.Load(ctx, b.server)
	if err != nil {
		return err
	}
	old := parseLogin(kept, b.url.String())
	refused, challenge, err := b.probe(ctx)
	if err != nil {
		return err
	}
	c := newOAuthClient(ctx, b.url)
	p, err := discover(ctx, c, b.url, refused, challenge)
	if err != nil {
		return err
	}
	if err := b.belongs(p, o, old); err != nil {
		return err
	}
	back, err := listenBack(o.Port)
	if err != nil {
		return err
	}
	defer back.close()
	l := login{Server: b.url.String(), Resource: p.resource, Issuer: p.meta.Issuer, TokenURL: p.meta.TokenEndpoint, RevokeURL: p.meta.RevocationEndpoint}
	if l.Scopes = o.Scopes; len(l.Scopes) == 0 {
		l.Scopes = p.scopes
	}
	if old.Issuer == l.Issuer { // what was granted before is not lost for more
		l.Scopes = union(l.Scopes, old.Scopes, old.Wanted)
	}
	if slices.Contains(p.meta.ScopesSupported, "offline_access") {
		l.Scopes = union(l.Scopes, []string{"offline_access"})
	}
	if l.Client, err = p.client(ctx, c, o, back.address, l.Scopes); err != nil {
		return err
	}
	code, verifier, err := l.code(ctx, c, p, back, show)
	if err != nil {
		return err
	}
	now := time.Now()
	g, err := l.grant(ctx, c, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back.address}, "code_verifier": {verifier}})
	if err != nil {
		return err
	}
	l = l.with(g, now)
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := b.store.Change(ctx, b.server, func([]byte) ([]byte, error) { return text, nil }); err != nil {
		return fmt.Errorf("it succeeded, but could not be kept: %w", err)
	}
	b.hold(l)
	b.heard(nil)
	return nil
}

// belongs refuses an authorization server that a client registered by hand does not
// belong to: it would be shown its secret.
func (b *bearer) belongs(p place, o OAuth, old login) error {
	want := o.Issuer
	if want == "" && o.ClientID != "" && old.Client.ID == o.ClientID {
		want = old.Issuer
	}
	if want == "" || strings.TrimSuffix(want, "/") == strings.TrimSuffix(p.meta.Issuer, "/") {
		return nil
	}
	return fmt.Errorf("the server names the authorization server %s, but its client belongs to %s; if that is right, log out first and change oauth in the configuration", clip(plain(p.meta.Issuer), 100), clip(plain(want), 100))
}

// probe asks the server something without a login, to hear how it refuses.
func (b *bearer) probe(ctx context.Context) (refused bool, challenge map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, oauthFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url.String(), bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)))
	if err != nil {
		return false, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := (&http.Client{Transport: b.next, CheckRedirect: sameServer}).Do(req)
	if err != nil {
		return false, nil, unwrapURL(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden, challengeOf(resp), nil
}

// code has a person log in, and returns what the browser comes back with.
func (l login) code(ctx context.Context, c *http.Client, p place, back *comeback, show func(string)) (code, verifier string, err error) {
	at, err := url.Parse(p.meta.AuthorizationEndpoint)
	if err != nil {
		return "", "", errors.New("the address to log in at is none")
	}
	if err := c.Transport.(*guard).fits(at); err != nil {
		return "", "", err
	}
	verifier = rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	q := at.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": l.Client.ID, "redirect_uri": back.address, "state": back.state, "resource": l.Resource,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
	} {
		q.Set(name, value)
	}
	if len(l.Scopes) > 0 {
		q.Set("scope", strings.Join(l.Scopes, " "))
	}
	at.RawQuery, at.Fragment, at.RawFragment = q.Encode(), "", ""
	show(at.String())
	got, err := back.wait(ctx)
	back.close()
	if err != nil {
		return "", "", err
	}
	iss := got.Get("iss") // RFC 9207
	switch {
	case iss != "" && iss != p.meta.Issuer || iss == "" && p.meta.AuthorizationResponseIssParameterSupported:
		return "", "", fmt.Errorf("the answer comes from %q, and not from the authorization server %s that was asked; it is not used", clip(plain(iss), 100), clip(plain(p.meta.Issuer), 100))
	case got.Get("error") != "":
		return "", "", &oauthError{got.Get("error"), got.Get("error_description")}
	case got.Get("code") == "":
		return "", "", errors.New("the browser came back without a code")
	}
	return got.Get("code"), verifier, nil
}

// logout forgets the login. told is why the authorization server could not be told.
func (b *bearer) logout(ctx context.Context) (told, err error) {
	var l login
	err = b.store.Change(ctx, b.server, func(kept []byte) ([]byte, error) {
		l = parseLogin(kept, b.url.String())
		return nil, nil
	})
	b.hold(login{})
	if l.Access+l.Refresh != "" {
		b.heard(&loginError{server: b.server})
		told = l.revoke(ctx, b.url)
	}
	return told, err
}

// comeback is the address that the browser comes back to.
type comeback struct {
	address string
	state   string // nobody else knows it
	got     chan url.Values
	server  *http.Server
	ended   chan struct{}
}

// listenBack listens on this machine alone; port 0 is any. close must follow.
func listenBack(port int) (*comeback, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the browser's return: %w", err)
	}
	c := &comeback{address: "http://" + l.Addr().String() + "/callback", state: rand.Text(), got: make(chan url.Values, 1), ended: make(chan struct{})}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Second, MaxHeaderBytes: 64 << 10}
	go func() { // close waits for it
		defer close(c.ended)
		_ = c.server.Serve(l) // it ends with close
	}()
	return c, nil
}

// ServeHTTP implements http.Handler: the first request that knows the state counts.
func (c *comeback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	text := "dragoman has got the answer and goes on. You can close this page.\n"
	switch {
	case r.Method != http.MethodGet || r.URL.Path != "/callback":
		w.WriteHeader(http.StatusNotFound)
		text = "There is nothing here.\n"
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1:
		w.WriteHeader(http.StatusBadRequest)
		text = "This answer does not belong to the login that was begun. Begin it anew.\n"
	default:
		select {
		case c.got <- q:
		default:
			w.WriteHeader(http.StatusConflict)
			text = "The answer has come before.\n"
		}
	}
	_, _ = w.Write([]byte(text)) // the browser may have left
}

// wait returns what the browser brings, or an error when ctx or the time for it ends.
func (c *comeback) wait(ctx context.Context) (url.Values, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loginFor, timeoutOf{fmt.Sprintf("nobody has logged in within %v", loginFor)})
	defer cancel()
	select {
	case q := <-c.got:
		return q, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// close ends the listening; what is being answered may be for a moment more. A second
// close does nothing.
func (c *comeback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), byeFor)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		c.server.Close()
	}
	<-c.ended
}
