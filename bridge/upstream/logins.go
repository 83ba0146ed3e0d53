package upstream

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/login"
)

// Login logs in to a server: show receives the address that a person is to open in a browser, and
// must not block. Login blocks until the browser returns, five minutes at most, and stores the
// login. Connections that waited for it are made.
func (b *Box) Login(ctx context.Context, server string, show func(address string)) error {
	s, err := b.site(ctx, server)
	if err == nil {
		err = b.logins.Login(ctx, s, show)
	}
	if err != nil {
		return fmt.Errorf("log in to the MCP server %s: %w", server, err)
	}
	for _, k := range b.keepers(server) {
		k.admit()
	}
	b.post(server)
	return nil
}

// Logout revokes the login to a server, there and here, and ends the connections that were made
// with it. If the server could not be reached, the error reports that, and the login is forgotten
// all the same.
func (b *Box) Logout(ctx context.Context, server string) error {
	s, err := b.site(ctx, server)
	if err != nil {
		return fmt.Errorf("log out of the MCP server %s: %w", server, err)
	}
	unrevoked, err := b.logins.Logout(ctx, s)
	for _, k := range b.keepers(server) {
		k.dismiss()
	}
	b.post(server)
	if err != nil {
		return fmt.Errorf("log out of the MCP server %s: %w", server, err)
	}
	if unrevoked != nil {
		return fmt.Errorf(
			"the login to the MCP server %s is removed here, but could not be revoked: %w",
			server,
			unrevoked,
		)
	}
	return nil
}

// site looks up the place of the login to a server.
func (b *Box) site(ctx context.Context, server string) (login.Site, error) {
	s, ok := b.find(server)
	if !ok {
		return login.Site{}, errUnknown
	}
	e, err := s.Endpoint(ctx)
	if err == nil && e.Remote() {
		err = streamable.CheckURL(e.URL)
	}
	return s.site(e), err
}

// site returns the place of the login to a server.
func (s Server) site(e Endpoint) login.Site {
	return login.Site{Server: s.Name, URL: e.URL, Keyed: e.keyed(), Config: e.OAuth}
}

// keyed reports whether the configuration has a key for the server.
func (e Endpoint) keyed() bool {
	for name := range e.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// clientFor returns the client for requests to a server. A server that a client brings along has
// no login.
func (b *Box) clientFor(s Server, e Endpoint) *http.Client {
	if !b.configured(s) {
		return b.client
	}
	return b.logins.Client(s.site(e))
}

// keepers returns the keepers of the connections to a server, of all sessions and clients.
func (b *Box) keepers(server string) (list []*Keeper) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.live[server] {
		if !u.server.brought {
			list = append(list, u.Keeper)
		}
	}
	for k, of := range b.exported {
		if of.Name == server {
			list = append(list, k)
		}
	}
	return list
}
