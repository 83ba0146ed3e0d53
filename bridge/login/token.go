package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"dragoman/core/display"
)

// client identifies us at an authorization server.
type client struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	Auth   string `json:"auth,omitempty"` // the way to send the secret
}

// The ways to send a client's secret (RFC 7591, 2).
const (
	authNone  = "none"
	authPost  = "client_secret_post"
	authBasic = "client_secret_basic"
)

// chooseAuth returns the way to send a secret to a server that supports the known ones.
func chooseAuth(secret string, known []string) string {
	switch {
	case secret == "":
		return authNone
	case slices.Contains(known, authBasic), !slices.Contains(known, authPost):
		return authBasic // the default (RFC 8414, 2)
	}
	return authPost
}

// refusal is an error response of an authorization server (RFC 6749, 5.2).
type refusal struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func (e *refusal) Error() string {
	s := display.Line(e.Code, 60)
	if e.Description != "" {
		s += ": " + display.Line(e.Description, 200)
	}
	return "the authorization server says " + s
}

// final reports whether only a new login can help.
func (e *refusal) final() bool {
	switch e.Code {
	case "invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope":
		return true
	}
	return false
}

// tokenResponse is the response of a token endpoint (RFC 6749, 5.1).
type tokenResponse struct {
	Access  string          `json:"access_token"`
	Type    string          `json:"token_type"`
	Expires json.RawMessage `json:"expires_in"` // a number; some servers send a text
	Refresh string          `json:"refresh_token"`
	Scope   *string         `json:"scope"`
}

// with returns the login with a new grant.
func (l record) with(g tokenResponse, now time.Time) record {
	l.Access, l.Expires = g.Access, time.Time{}
	if g.Refresh != "" {
		l.Refresh = g.Refresh // it replaces the last one
	}
	if g.Scope != nil {
		l.Scopes = strings.Fields(*g.Scope)
	}
	const most = 10 * 365 * 24 * 3600
	if in, err := json.Number(strings.Trim(string(g.Expires), `"`)).Float64(); err == nil && in > 0 {
		l.Expires = now.Add(time.Duration(min(in, most) * float64(time.Second))).Round(0)
	}
	return l
}

// refresh requests a new token in place of an expired one.
func (l record) refresh(ctx context.Context, server *url.URL) (record, error) {
	now := time.Now()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh}}
	g, err := l.grant(ctx, guardedClient(ctx, server), form)
	if err != nil {
		return record{}, err
	}
	return l.with(g, now), nil
}

// grant requests a token for this server only (RFC 8707) from a token endpoint.
func (l record) grant(ctx context.Context, c *http.Client, form url.Values) (g tokenResponse, err error) {
	form.Set("resource", l.Resource)
	body, err := l.Client.post(ctx, c, l.TokenURL, form)
	if err != nil {
		return g, err
	}
	if json.Unmarshal(body, &g) != nil || g.Access == "" { // the error could quote the token
		return g, errors.New("the authorization server's answer has no token")
	}
	if !strings.EqualFold(g.Type, "bearer") {
		return g, fmt.Errorf(
			"the authorization server gives tokens of the kind %q, which we cannot use; Bearer is wanted",
			display.Line(g.Type, 40),
		)
	}
	if strings.ContainsFunc(g.Access, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return g, errors.New("the authorization server's token contains characters that tokens cannot have")
	}
	return g, nil
}

// revoke revokes the login at the authorization server (RFC 7009). Most servers revoke all tokens
// of a login along with its refresh token.
func (l record) revoke(ctx context.Context, server *url.URL) error {
	if l.RevokeURL == "" {
		return nil
	}
	c := guardedClient(ctx, server)
	for hint, token := range map[string]string{"refresh_token": l.Refresh, "access_token": l.Access} {
		if token == "" {
			continue
		}
		if _, err := l.Client.post(ctx, c, l.RevokeURL, url.Values{"token": {token}, "token_type_hint": {hint}}); err != nil {
			return err
		}
	}
	return nil
}

// post sends a form as the client. No error contains values of the form.
func (c client) post(ctx context.Context, h *http.Client, to string, form url.Values) ([]byte, error) {
	if c.Auth != authBasic {
		form.Set("client_id", c.ID)
	}
	if c.Auth == authPost {
		form.Set("client_secret", c.Secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the authorization server names an invalid address")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if c.Auth == authBasic {
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret)) // escaped: RFC 6749, 2.3.1
	}
	resp, err := h.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the authorization server: %w", display.WithoutURL(err))
	}
	defer resp.Body.Close()
	body, err := readAnswer(resp)
	if err != nil {
		return nil, fmt.Errorf("read the authorization server's answer: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return body, nil
	}
	var said refusal
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "application/json" && json.Unmarshal(body, &said) == nil && said.Code != "" {
		for _, values := range form { // some servers quote the values that they refuse
			for _, v := range values {
				if len(v) >= 8 {
					said.Description = strings.ReplaceAll(said.Description, v, "***")
				}
			}
		}
		return nil, &said
	}
	return nil, fmt.Errorf("the authorization server answered %s", display.Line(resp.Status, 60))
}
