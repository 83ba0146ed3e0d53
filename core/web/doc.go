// Package web fetches pages of the public web as text.
//
// # What holds
//
//   - A page is fetched from public addresses only, and never from this machine's own.
//     They are checked when the connection is made, so that neither names nor
//     redirects lead elsewhere. Whoever fetches is asked about each redirect
//     (Fetcher.Hop), and has asked policy about the address before.
//   - Whatever is read is bounded: 1 MiB of an answer, ten seconds, five redirects.
//     HTML is read as a stream of tags, so a page that nests without end costs
//     nothing more.
//
// # Why
//
// A page is reached without the proxies of the environment: a proxy resolves names
// where nobody can look at what they mean. Who can reach the network through a
// proxy alone has shell_command.
package web
