// Package streamable carries the Model Context Protocol over HTTP: Streamable HTTP, and
// HTTP with SSE of 2024-11-05.
//
// The half of a client is [Client], to which a wire.Conn is spoken. The half of a server is
// [Handler]: sessions, and requests of 2026-07-28, each with a [Conn] to whoever answers,
// to which messages are handed decoded. Beside it stand the parts that every server of the
// protocol has alike: refusals, statuses, the order of requests and their cancellations
// ([Calls]), and the headers that repeat what a request of 2026-07-28 says ([Mismatch],
// [ParamHeaders]).
//
// # What holds
//
//   - A body is checked in Handler.post, and what it says nowhere behind.
//   - An answer that comes alone is a JSON body, written from the memory it lies in. What
//     else is said before it makes the answer a stream of events, and so does an answer that
//     takes half a second, where the version has an event without a message for that.
//   - Up to 2025-11-25 events have ids, by which a client comes back for what it has missed
//     (Last-Event-ID), of any of its streams. They are kept up to 16 MiB for all clients
//     together, the oldest forgotten first; what somebody is reading is never forgotten.
//   - A client that hangs up takes back what it has asked at 2026-07-28, and before that
//     nothing: the call goes on for when it comes back.
package streamable
