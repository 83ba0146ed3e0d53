// Package login logs in to MCP servers with OAuth 2.1, according to their protocol
// (Authorization).
//
// # Vocabulary
//
// A [Site] describes a server for a login. A [Wallet] has the logins to all of them. A record
// stores a login in a [Store] (record.go). A bearer adds the token of a login to the requests to
// one server, and renews it (bearer.go). An authority is the authorization server of a server,
// which names it (discover.go). A guard is the transport to the addresses that a server names for
// its login (guard.go), a callback the address on this machine that the browser returns to
// (callback.go).
//
// # What holds
//
//   - A token is sent only to the address that it was made for. A server that a client brings
//     along has no login: the code that makes the Sites ensures that.
//   - An address that a server names for its login is no nearer to us than the server, and
//     encrypted, except on this machine. The address of a name is checked when it is connected
//     to.
//   - The secret of a client that was registered by hand is sent to its own authorization server,
//     and to no other.
//   - No token, code or secret is in an error or a log.
//   - A token is renewed once, for all waiting requests in all processes. A renewal that has
//     begun is completed, because a single-use token is lost without its answer.
//   - A key in the configuration replaces a login.
//
// Every mutex is a leaf, and none is held during a request. A callback owns the goroutine that
// listens; its close waits for it.
//
// # Why
//
// We use the forms and the discovery of the SDK's packages auth and oauthex, and not its
// AuthorizationCodeHandler: that reports neither the issuer, which a login is bound to, nor the
// address for revoking tokens; its renewals (golang.org/x/oauth2) omit the resource, cannot be
// stored, and fail with the text of the answer. It accepts a server's metadata only under the
// server's exact address, but many servers name their host.
package login
