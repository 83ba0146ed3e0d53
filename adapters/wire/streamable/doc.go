// Package streamable carries the Model Context Protocol over HTTP: Streamable HTTP, and
// HTTP with SSE of 2024-11-05.
//
// The client's half is [Client], the stream below a wire.Conn. The server's half is [Handler], with
// sessions and the requests of 2026-07-28; it passes decoded messages to a [Conn] for each. The
// parts that other servers of the protocol need, too, can be used without it: refusals, statuses,
// the order of requests and their cancellations ([Calls]), and the headers that repeat parameters
// of a request of 2026-07-28 ([Mismatch], [ParamHeaders]).
//
// # What holds
//
//   - A body is checked in Handler.post, and nowhere else.
//   - An answer alone is a JSON body, written without a copy. If other messages come before it,
//     the response is a stream of events; also if the answer takes half a second, provided that
//     the version has events without a message.
//   - Up to 2025-11-25 events have ids, by which a client gets the events that it has missed in
//     any of its streams (Last-Event-ID). They are kept up to 16 MiB for all clients together, and
//     the oldest are dropped first; events that are being read are never dropped.
//   - At 2026-07-28 a client that hangs up cancels its request. Before, the call continues, and
//     the client can come back for the answer.
package streamable
