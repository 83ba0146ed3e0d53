// Package streamable carries the Model Context Protocol over HTTP: Streamable HTTP, and
// HTTP with SSE of 2024-11-05.
//
// The half of a client is [Client], to which a wire.Conn is spoken. Of a server's half
// it holds what every server of the protocol does alike: refusals, events, statuses, the
// order of requests and their cancellations ([Calls]), and the headers that repeat what a
// request of 2026-07-28 says ([Mismatch], [ParamHeaders]). Sessions, and who may have one, are the servers' own affair.
package streamable
