package login

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"dragoman/core/display"
)

// authority is the authorization server of a server, with the scopes to request.
type authority struct {
	resource string   // the server, by its own name for itself
	scopes   []string // those that the server requires, or else all that it knows
	meta     *oauthex.AuthServerMeta
}

// discover finds the authorization server of a server (Authorization, Server Discovery): the
// server names it, and it names its endpoints. refused means that the server has refused a
// request without a token.
func discover(
	ctx context.Context,
	c *http.Client,
	server *url.URL,
	refused bool,
	challenge map[string]string,
) (authority, error) {
	a, issuer, err := resourceOf(ctx, c, server, challenge["resource_metadata"])
	if err != nil {
		return authority{}, err
	}
	if asked := strings.Fields(challenge["scope"]); len(asked) > 0 {
		a.scopes = asked
	}
	issuer = strings.TrimSuffix(issuer, "/") // a slash at the end leads to addresses that do not exist
	if a.meta, err = auth.GetAuthServerMetadata(ctx, issuer, c); err != nil {
		return authority{}, fmt.Errorf("the authorization server %s does not say how to log in: %s",
			display.Line(issuer, 100), display.Line(display.WithoutURL(err).Error(), 300))
	}
	if a.meta == nil && !refused {
		return authority{}, errors.New("it asks for no login, and does not say where one is made")
	}
	if a.meta == nil { // servers of 2025-03-26 have no metadata
		a.meta = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize",
			TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register",
		}
	}
	if a.meta.AuthorizationEndpoint == "" || a.meta.TokenEndpoint == "" {
		return authority{}, fmt.Errorf(
			"the authorization server %s names no address to log in at",
			display.Line(issuer, 100),
		)
	}
	return a, nil
}

// resourceOf reads the metadata of the server (RFC 9728) at the address in its refusal, or at the
// well-known places. A server of 2025-03-26 has none: it is its own authorization server.
func resourceOf(
	ctx context.Context,
	c *http.Client,
	server *url.URL,
	pointed string,
) (authority, string, error) {
	root := url.URL{Scheme: server.Scheme, Host: server.Host}
	const wellKnown = "/.well-known/oauth-protected-resource"
	at := []string{root.String() + wellKnown}
	if path := strings.Trim(server.EscapedPath(), "/"); path != "" {
		at = []string{root.String() + wellKnown + "/" + path, at[0]}
	}
	if pointed != "" {
		at = append([]string{pointed}, at...)
	}
	for _, address := range slices.Compact(at) {
		meta, err := readResource(ctx, c, address)
		if errors.Is(err, errNothing) {
			continue
		}
		if err == nil && !covers(meta.Resource, server) {
			err = fmt.Errorf("it is about %s, and not about this server", display.Line(meta.Resource, 100))
		}
		if err == nil && len(meta.AuthorizationServers) == 0 {
			err = errors.New("it names no authorization server")
		}
		if err != nil {
			return authority{}, "", fmt.Errorf(
				"what the server says of its login at %s cannot be used: %w",
				display.Line(address, 200),
				err,
			)
		}
		return authority{resource: meta.Resource, scopes: meta.ScopesSupported}, meta.AuthorizationServers[0], nil
	}
	return authority{resource: server.String()}, root.String(), nil
}

// errNothing means that a server has no metadata at an address.
var errNothing = errors.New("there is nothing")

// readResource reads metadata of a resource. The SDK's own reader accepts only the exact address
// of the server; many servers name a parent of it.
func readResource(
	ctx context.Context,
	c *http.Client,
	address string,
) (*oauthex.ProtectedResourceMetadata, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("the address is none")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return nil, display.WithoutURL(err)
	}
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= http.StatusInternalServerError:
		return nil, fmt.Errorf("the server answered %s", resp.Status)
	case resp.StatusCode != http.StatusOK || kind == "text/html": // a page for every missing address
		return nil, errNothing
	}
	body, err := readAnswer(resp)
	if err != nil {
		return nil, err
	}
	var meta oauthex.ProtectedResourceMetadata
	if err := json.Unmarshal(body, &meta); err != nil {
		return nil, errors.New("it is not a JSON object")
	}
	return &meta, nil
}

// covers reports whether a resource is the server, or a parent of it on the same host.
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Scheme != server.Scheme || !strings.EqualFold(r.Host, server.Host) ||
		r.RawQuery != "" && r.RawQuery != server.RawQuery || r.User != nil {
		return false
	}
	above, below := strings.TrimSuffix(r.Path, "/")+"/", strings.TrimSuffix(server.Path, "/")+"/"
	return strings.HasPrefix(below, above) && !strings.Contains(above, "..")
}

// client returns our registration at the authorization server: the configured one, or one that is
// made only for this login.
func (a authority) client(
	ctx context.Context,
	c *http.Client,
	o Config,
	back string,
	scopes []string,
) (client, error) {
	known := a.meta.TokenEndpointAuthMethodsSupported
	if o.ClientID != "" {
		return client{o.ClientID, o.ClientSecret, chooseAuth(o.ClientSecret, known)}, nil
	}
	if a.meta.RegistrationEndpoint == "" {
		return client{}, fmt.Errorf(
			"the authorization server %s does not register clients automatically: register a client there with the redirect address %s, and set its client_id (and redirect_port) under oauth in the configuration of the server",
			display.Line(a.meta.Issuer, 100),
			back,
		)
	}
	want := authNone
	if len(known) > 0 && !slices.Contains(known, authNone) {
		want = chooseAuth("some", known)
	}
	r, err := oauthex.RegisterClient(ctx, a.meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{back}, TokenEndpointAuthMethod: want,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		ClientName: "dragoman", ApplicationType: "native", Scope: strings.Join(scopes, " "),
	}, c)
	if err != nil {
		// The SDK's errors quote the answer, which may contain a secret.
		text := "the answer cannot be used"
		var said *oauthex.ClientRegistrationError
		var failed *url.Error
		switch {
		case errors.As(err, &said):
			text = display.Line(said.ErrorCode+" "+said.ErrorDescription, 200)
		case errors.As(err, &failed):
			text = failed.Err.Error()
		}
		return client{}, fmt.Errorf(
			"register at the authorization server %s: %s",
			display.Line(a.meta.Issuer, 100),
			text,
		)
	}
	if r.ClientSecret == "" {
		return client{ID: r.ClientID, Auth: authNone}, nil
	}
	way := cmp.Or(r.TokenEndpointAuthMethod, authBasic)
	if way != authPost && way != authBasic {
		way = chooseAuth(r.ClientSecret, known)
	}
	return client{r.ClientID, r.ClientSecret, way}, nil
}
