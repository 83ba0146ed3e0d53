// Package aggregate shows our own agent and many MCP servers to clients as one server.
//
// # Vocabulary
//
// A [Server] is what is shown. A caller is a client's connection to it (aggregate.go). A
// side is one way of being a client there: since its initialize, or, at 2026-07-28, by the
// name and the capabilities that its requests say (side.go). A part is a server behind a
// side, or our agent, which speaks MCP over a pipe within the process (part.go); a pass is
// a request on its way to a part and back (calls.go, named.go). What a part lists goes into a
// snapshot, of which the client gets pages (lists.go); names (names.go) and routes
// (routes.go) find whose something is. Where there are too many tools for a client, it is
// shown two that find the others (search.go).
//
// # What holds
//
//   - Each side has connections of its own, dialled at the client's version and with the
//     client's own name and capabilities, no more and no less; a server that refuses the
//     version is spoken to at another, and what the two have differently is translated.
//   - What is said passes as raw JSON, session to session. Only what has to be is put in
//     its place: another name, another progress token, the gateways that a call has
//     passed, what the other version wants to be said.
//   - A name that was given keeps its meaning while the client stays. What it means is
//     looked up, never read from it. Our agent's tools keep theirs.
//   - A slow server delays at most one answer, a list, by at most the grace of the
//     upstream.Box. What comes later is announced.
//   - Which call a question of a server's belongs to must be clear, or it is refused;
//     what the client does not offer is refused at once.
//
// Every mutex is a leaf. A caller owns the goroutines of its parts and of what waits for
// them; Serve returns after them all.
//
// # Why
//
// An aggregate speaks as a server itself, in place of relaying: its lists and names are
// made of many, and at 2026-07-28 a question is a result, which at the older versions
// is a request in the middle of a call. Such a call stays open at the server while the
// client has the question, under a handle that nobody can guess; the client's second
// call goes on where the first one was. What our agent says of itself is its own
// answer to initialize, to which capabilities are added, so that it is written once.
// Lists say that they change and resources that they can be subscribed to before it is
// known whether a server has such: no client waits for servers to be greeted. A client
// of the early dialect gets the agent alone.
//
// At 2026-07-28 over HTTP nothing says which requests are one client's: those of one
// principal, name and set of capabilities share a side. With several calls open there
// at an older server nothing says whose a question is, and it is refused.
//
// It serves clients over a pipe. Over HTTP they come by a relay's face, which connects them
// by Dial: the command joins the two.
package aggregate
