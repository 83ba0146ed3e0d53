package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"dragoman/core/display"
)

// login runs the authorization code grant with PKCE (Authorization).
func (b *bearer) login(ctx context.Context, o Config, show func(string)) error {
	kept, err := b.store.Load(ctx, b.server)
	if err != nil {
		return err
	}
	old := parseRecord(kept, b.url.String())
	refused, challenge, err := b.probe(ctx)
	if err != nil {
		return err
	}
	c := guardedClient(ctx, b.url)
	a, err := discover(ctx, c, b.url, refused, challenge)
	if err != nil {
		return err
	}
	if err := b.belongs(a, o, old); err != nil {
		return err
	}
	back, err := listenBack(o.Port)
	if err != nil {
		return err
	}
	defer back.close()
	l := record{
		Server: b.url.String(), Resource: a.resource, Issuer: a.meta.Issuer,
		TokenURL: a.meta.TokenEndpoint, RevokeURL: a.meta.RevocationEndpoint,
	}
	if l.Scopes = o.Scopes; len(l.Scopes) == 0 {
		l.Scopes = a.scopes
	}
	if old.Issuer == l.Issuer { // earlier grants are kept when more is requested
		l.Scopes = union(l.Scopes, old.Scopes, old.Wanted)
	}
	if slices.Contains(a.meta.ScopesSupported, "offline_access") {
		l.Scopes = union(l.Scopes, []string{"offline_access"})
	}
	if l.Client, err = a.client(ctx, c, o, back.address, l.Scopes); err != nil {
		return err
	}
	code, verifier, err := l.code(ctx, c, a, back, show)
	if err != nil {
		return err
	}
	now := time.Now()
	g, err := l.grant(ctx, c, url.Values{
		"grant_type": {
			"authorization_code",
		}, "code": {code}, "redirect_uri": {back.address}, "code_verifier": {verifier},
	})
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

// belongs refuses an authorization server that is not that of a client registered by hand,
// because it would see the client's secret.
func (b *bearer) belongs(a authority, o Config, old record) error {
	want := o.Issuer
	if want == "" && o.ClientID != "" && old.Client.ID == o.ClientID {
		want = old.Issuer
	}
	if want == "" || strings.TrimSuffix(want, "/") == strings.TrimSuffix(a.meta.Issuer, "/") {
		return nil
	}
	return fmt.Errorf(
		"the server names the authorization server %s, but its client belongs to %s; if that is right, log out first and change oauth in the configuration",
		display.Line(a.meta.Issuer, 100),
		display.Line(want, 100),
	)
}

// probe sends the server a request without a login, and returns its refusal.
func (b *bearer) probe(ctx context.Context) (refused bool, challenge map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	ping := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url.String(), ping)
	if err != nil {
		return false, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := b.client.Do(req)
	if err != nil {
		return false, nil, display.WithoutURL(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden, challengeOf(resp), nil
}

// code has a person log in, and returns the code that the browser brings back.
func (l record) code(
	ctx context.Context,
	c *http.Client,
	a authority,
	back *callback,
	show func(string),
) (code, verifier string, err error) {
	at, err := url.Parse(a.meta.AuthorizationEndpoint)
	if err != nil {
		return "", "", errors.New("the login address is invalid")
	}
	if err := c.Transport.(*guard).fits(at); err != nil {
		return "", "", err
	}
	verifier = rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	q := at.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": l.Client.ID, "redirect_uri": back.address,
		"state": back.state, "resource": l.Resource,
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
	case iss != "" && iss != a.meta.Issuer || iss == "" && a.meta.AuthorizationResponseIssParameterSupported:
		return "", "", fmt.Errorf(
			"the answer comes from %q, and not from the authorization server %s that was asked; it is not used",
			display.Line(iss, 100),
			display.Line(a.meta.Issuer, 100),
		)
	case got.Get("error") != "":
		return "", "", &refusal{got.Get("error"), got.Get("error_description")}
	case got.Get("code") == "":
		return "", "", errors.New("the browser came back without a code")
	}
	return got.Get("code"), verifier, nil
}

// logout forgets the login. unrevoked is the reason why the authorization server still honours
// it.
func (b *bearer) logout(ctx context.Context) (unrevoked, err error) {
	var l record
	err = b.store.Change(ctx, b.server, func(kept []byte) ([]byte, error) {
		l = parseRecord(kept, b.url.String())
		return nil, nil
	})
	b.hold(record{})
	if l.Access+l.Refresh != "" {
		b.heard(&RequiredError{Server: b.server})
		unrevoked = l.revoke(ctx, b.url)
	}
	return unrevoked, err
}
