// Package acp serves the Agent Client Protocol, version 1: newline-delimited
// JSON-RPC, the agent's side.
//
// A [Server] is one connection. Its handlers run on the reading goroutine and never wait; work
// that may wait is put into the queue of its session. One pump reads the sessions' logs, and
// encode.go turns a record into updates, as a pure function of a [View] and the record.
// A client that loads a session gets the end of each thing (history.go), from the same updates.
// Permission requests are derived from the open questions (permission.go), never from the stream,
// so that a replayed one is never asked again and one that was decided elsewhere is withdrawn.
//
// Choices (agents, models, effort, trust) have three forms in the protocol. The encoder keeps
// them in step, from the log, whoever made the choice (offer.go). An external agent is started by
// session/new or when it is chosen, never by opening a session again; its own options (choices.go),
// its answers to permission requests and its updates of kinds that core does not know (foreign.go)
// reach clients unchanged.
//
// Files: initialize.go (the client's identity), early.go (clients of August 2025), session.go (a
// session on the connection), lifecycle.go (new, load, resume, fork, close, delete), list.go,
// prompt.go (prompt, cancel), offer.go, choices.go and configure.go, permission.go, consent.go, elicit.go and
// page.go (questions to the user), services.go (the editor's files and terminals), servers.go,
// commands.go, view.go, encode.go, encode_call.go, history.go, foreign.go, content.go, markdown.go and large.go
// (session/update), subsession.go and taskcall.go (delegated tasks), manage.go (titles, status and
// archive), system.go (the client's system prompt), providers.go, signin.go, logins.go, errors.go.
// Package thread serves the thread protocol of June 2025, on the same stream.
//
// Requests that may wait are handled a few at a time (Server.crew): the next one begins when the
// pump has written the answer to an earlier one. So a client that does not read its answers gets
// only a few sessions.
//
// # Why
//
// The pump sends each answer after the messages that it must follow: session/new comes before the
// session's first update, session/load after the whole replay, session/prompt right after the end
// of its turn. Clients drop updates of sessions they do not know yet, and take everything after a
// prompt's answer for a part of the next turn.
package acp
