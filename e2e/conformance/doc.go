// Package conformance runs the Model Context Protocol's own conformance suites against the MCP adapter behind the gate,
// as dragoman serves it over HTTP, with the tools, prompts and resources that the suites ask for added to it; against relays
// to other servers; and, for clients, with a relay or an aggregate as the client, and with the bridge for logins.
//
// The suites come from npm and need Node 22, which comes from npm too, for Linux on x64 alone; elsewhere, and without npm,
// the test is skipped and says why.
package conformance
