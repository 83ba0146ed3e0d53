// Package web fetches pages of the public web as text.
//
// # What holds
//
//   - A page is fetched from public addresses only, and never from this machine's own.
//     They are checked when the connection is made, so that neither names nor
//     redirects lead elsewhere. The caller decides about each redirect (Fetcher.Hop),
//     and has asked the policy about the address before.
//   - All reading is bounded: 1 MiB of an answer, ten seconds, five redirects. HTML is
//     read as a stream of tags, so endless nesting in a page costs nothing.
//
// # Why
//
// Pages are fetched without the proxies of the environment: a proxy resolves names,
// and the resulting addresses cannot be checked. Users who reach the network only
// through a proxy have shell_command.
package web
