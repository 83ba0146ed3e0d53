// Package acp serves the Agent Client Protocol, version 1: newline-delimited
// JSON-RPC, the agent's side.
//
// A [Server] is one connection. Its handlers run on the reading goroutine and
// never wait: what may wait is put into the queue of its session. One pump reads
// the sessions' logs, and encode.go turns a record into updates: a pure function
// of a [View] and the record. Permission requests are derived from what waits
// (permission.go), never from the stream, so that a replayed one is never asked
// again and one that was decided elsewhere is withdrawn.
//
// What can be chosen (agents, models, effort, trust) is said in three forms that
// are kept in step by the encoder, from the log, whoever made the choice (offer.go).
//
// Files: initialize.go (who the client is), early.go (clients of August 2025), session.go (a session on
// the connection), lifecycle.go (new, load, resume, fork, close, delete), list.go,
// prompt.go (prompt, cancel), offer.go and configure.go, permission.go, consent.go,
// elicit.go and page.go (what is put to the user), services.go (the editor's files and terminals),
// servers.go, commands.go, view.go, encode.go, encode_call.go and content.go
// (session/update), errors.go. The thread protocol of June 2025, on the same stream, is
// package thread's.
//
// Requests that may wait are handled a few at a time (Server.crew): the next one begins
// when the pump has written the answer to one before it. So only a few
// sessions are made for a client that does not read its answers.
//
// # Why
//
// An answer is given by the pump, behind what it must follow: session/new before
// the session's first update, session/load behind the whole replay, session/prompt
// right behind the end of its turn. Clients drop updates of sessions they do not
// know yet, and take whatever follows a prompt's answer for the next turn's.
package acp
