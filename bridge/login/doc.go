// Package login logs in to MCP servers with OAuth 2.1, as their protocol has it
// (Authorization).
//
// # Vocabulary
//
// A [Site] is a server, as far as a login is concerned. A [Wallet] has the logins to all of
// them. A record keeps what a login gave in a [Store] (record.go). A bearer gives the
// requests to one server the token of its login, and renews it (bearer.go). An authority is
// where one logs in to a server, which the server says (discover.go). A guard is the way to
// what a server names for its login (guard.go), a callback the address on this machine that
// the browser comes back to (callback.go).
//
// # What holds
//
//   - A token goes to the address that it was made for and nowhere else. A server that a
//     client of ours brings along has no login: who makes the Sites sees to that.
//   - What a server names for its login is no nearer to us than the server, and encrypted,
//     except on this machine. An address that a name stands for is looked at when it is
//     connected to.
//   - A client that was registered by hand shows its secret to the authorization server that
//     it belongs to, and to no other.
//   - No token, code or secret is in an error or a log.
//   - A token is renewed once, for all who wait, whatever process they are in: a renewal
//     that was begun is ended, because a token that can be used once is lost with its answer.
//   - A key that the configuration names is used in the place of a login.
//
// Every mutex is a leaf, and none is held while anything is asked for. A callback owns the
// goroutine that listens; its close waits for it.
//
// # Why
//
// Of the SDK's packages auth and oauthex we use the forms and the discovery, and not
// its AuthorizationCodeHandler: that neither tells the issuer, which a login is bound to,
// nor where tokens are revoked; its renewals (golang.org/x/oauth2) leave the
// resource out, cannot be kept, and fail with the text of the answer. It takes a
// server's metadata only under the server's very address, where many name their host.
package login
