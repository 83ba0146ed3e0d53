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
// Files: initialize.go, session.go (new, load, resume, list, close, delete),
// prompt.go (prompt, cancel), permission.go, services.go (the editor's files),
// view.go and encode.go (session/update), errors.go.
//
// # Why
//
// An answer is given by the pump, behind what it must follow: session/new before
// the session's first update, session/load behind the whole replay, session/prompt
// right behind the end of its turn. Clients drop updates of sessions they do not
// know yet, and take whatever follows a prompt's answer for the next turn's.
package acp
