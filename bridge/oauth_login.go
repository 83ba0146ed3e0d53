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

	"dragoman/core/display"
)

// loginFor is how long a person may take in the browser.
const loginFor = 5 * time.Minute

// closeFor is how long the answer to the browser may take when the listening ends.
const closeFor = 2 * time.Second

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
	return fmt.Errorf("the server names the authorization server %s, but its client belongs to %s; if that is right, log out first and change oauth in the configuration", clip(display.Plain(p.meta.Issuer), 100), clip(display.Plain(want), 100))
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
	resp, err := b.client.Do(req)
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
		return "", "", fmt.Errorf("the answer comes from %q, and not from the authorization server %s that was asked; it is not used", clip(display.Plain(iss), 100), clip(display.Plain(p.meta.Issuer), 100))
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
		b.heard(&RequiredError{Server: b.server})
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
	ctx, cancel := context.WithTimeoutCause(ctx, loginFor, fmt.Errorf("nobody has logged in within %v", loginFor))
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
	ctx, cancel := context.WithTimeout(context.Background(), closeFor)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		c.server.Close()
	}
	<-c.ended
}
