// Package aggregate shows our own agent and many MCP servers to clients as one server.
//
// # Vocabulary
//
// A [Server] is what is shown. A caller is a client's connection to it (aggregate.go). A
// side is one way of being a client there: since its initialize, or, at 2026-07-28, by the
// name and the capabilities that its requests say (side.go). A part is a server behind a
// side, or our agent, which is handed messages within the process (part.go, agent.go); a pass is
// a request on its way to a part and back (calls.go, named.go). What a part lists goes into a
// snapshot, of which the client gets pages (lists.go); names (names.go) and routes
// (routes.go) find whose something is. Where there are too many tools for a client, it is
// shown two that find the others (search.go).
//
// # A call and its answer
//
// One tools/call of a program's tool passes these functions, in this order. Over HTTP
// streamable's Handler.post and Client.Take stand in the place of the first two, and its
// session.send and output in the place of the last.
//
//	lineFramer.Next   cuts the client's line out of its stream        wire
//	Conn.frame        checks that it is JSON, and takes it apart       wire
//	Conn.dispatch     enters it among the calls that are open         wire
//	caller.receive    finds the client's side
//	inspect           reads the parameters, once
//	side.receive      tells methods apart
//	side.named        finds the tool by the name that the client has
//	side.toNamed      begins the record; has the tools listed if need be
//	side.ruled        asks the rules, and the user where a rule wants that
//	side.toPart       goes on with a call that has waited for an answer
//	pass.send         starts the server if need be; tokens, timer
//	pass.params       puts in its place what the server is to read otherwise
//	Conn.Start        enters the request, and queues it                wire
//
//	sieve.Next        cuts the server's line out, checks and parses it  upstream
//	Conn.answered     finds the request                               wire
//	pass.answered     repeats, asks, or goes on
//	pass.fit          gives the result the form of the client's version
//	pass.finish       ends the pass and its record
//	Conn.put          frees the id, and queues the answer              wire
//
// # Borders
//
// Text is checked where it comes from somebody who is not us, and nowhere else: a client's
// line in Conn.frame, a client's body in streamable's Handler.post, a program's line in
// sieve.Next, a server's answer over HTTP in streamable's Client. What a client's parameters
// mean is a border of its own: inspect refuses what a server could read in another way than
// the rules do. Behind that a text is passed as it is (wire.Checked), and to our agent too,
// which checks what a parameter means for its own methods and not whether it is JSON.
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
//   - Which call a question of a server's belongs to must be clear, or it is refused; a
//     question that the client does not offer to answer is refused at once. Other requests
//     of servers, outside of the protocol, are passed to clients of the older versions.
//   - Errors pass as they were written, with their data, in both directions.
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
// known whether a server has such. What a server says of itself is told once, when a client
// begins: the first one waits for it for at most three seconds, and no longer than the
// grace. A client of the early dialect gets the agent alone.
//
// At 2026-07-28 over HTTP nothing says which requests are one client's: those of one
// principal, name and set of capabilities share a side. With several calls open there
// at an older server nothing says whose a question is, and it is refused. A call whose
// questions the client has is no such call: it is given up when another one is open, since
// a dialog that was closed never comes back.
//
// The servers are those of the configuration as it is (Server.Update): a change ends the
// connections to what it changes and no others, and the client's session lives on.
//
// It serves clients over a pipe. Over HTTP they are served by a streamable.Handler, which
// connects them by Connect: the command joins the two.
package aggregate
