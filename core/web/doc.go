// Package web fetches pages of the public web as text.
//
// # What holds
//
//   - A page is fetched from public addresses only, and never from this machine's own.
//     They are checked when the connection is made, so that neither names nor
//     redirects lead elsewhere. The caller decides about each redirect
//     (Fetcher.Hop), and has asked policy about the address before.
//   - All input is bounded: 1 MiB of an answer, ten seconds, five redirects.
//     HTML is read as a stream of tags, so a page with endless nesting costs no more
//     than others.
//
// # Why
//
// The proxies of the environment are not used: a proxy resolves names itself, so the
// address could not be checked. A user who reaches the network only through a proxy has
// shell_command.
package web
