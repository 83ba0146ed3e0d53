// Package aggregate presents our own agent and many MCP servers to clients as one server.
//
// # Vocabulary
//
// A [Server] is the one server that clients see. A caller is a client's connection to it
// (aggregate.go). A side is a client as servers see it: with the version, name and capabilities of
// its initialize, or, at 2026-07-28, of its requests (side.go). A part is a server behind a side,
// or our agent, which gets messages within the process (part.go, agent.go). A pass is a request on
// its way to a part, and its answer on the way back (calls.go, named.go). The lists of all parts
// are kept (kept.go) and combined into a snapshot, of which the client gets pages (lists.go). Names (names.go),
// addresses (addresses.go) and routes (routes.go) find the server of a tool, prompt, resource or task. A client with too many tools
// gets two that find and call the others (search.go).
//
// # A call and its answer
//
// A tools/call of a program's tool passes these functions, in this order. Over HTTP,
// streamable's Handler.post and Client.Take replace the first two, and its session.send and output
// the last. Small messages are written by the functions that queue them (wire.Writer), so that no
// other goroutine has to wake up.
//
//	lineFramer.Next   reads the client's line from its stream         wire
//	Conn.frame        checks that it is JSON, and parses the envelope  wire
//	Conn.dispatch     adds it to the open calls                       wire
//	caller.receive    finds the client's side
//	inspect           reads the parameters
//	side.receive      chooses by method
//	side.named        finds the tool by the client's name for it
//	side.toNamed      begins the record, and updates the tools if need be
//	side.ruled        applies the rules, and asks the user if one demands it
//	side.toPart       continues a call that has waited for an answer
//	pass.send         starts the server if need be
//	pass.params       translates names, tokens and metadata
//	Conn.Start        adds the request to our open ones, and queues it wire
//
//	sieve.Next        reads, checks and parses the server's line      upstream
//	Conn.answered     finds the request                               wire
//	pass.answered     repeats the call, asks the client, or continues
//	pass.fit          translates the result to the client's version
//	pass.finish       ends the pass and its record
//	Conn.put          frees the id, and queues the answer              wire
//
// # Borders
//
// Text is checked where it enters the process, and nowhere else: a client's line in Conn.frame, a
// client's body in streamable's Handler.post, a program's line in sieve.Next, a server's answer
// over HTTP in streamable's Client. A second border is the meaning of a client's parameters:
// inspect refuses what a server might read differently from the rules. Behind it a text is passed
// on as it is (wire.ValidJSON). Our agent gets it unchecked, too: it checks the parameters of its own
// methods, but not again whether they are JSON.
//
// # What holds
//
//   - Each side has its own connections to servers, with the client's version, name and
//     capabilities. A server that refuses the version gets another, and differences between the
//     two are translated.
//   - Messages pass as raw JSON, session to session. Only what must differ is replaced: names,
//     progress tokens, the number of gateways that a call has passed, metadata of versions, and
//     addresses that two servers have.
//   - A name keeps its meaning while the client stays. Its meaning is looked up, never parsed
//     from the name. Our agent's tools keep their names.
//   - So does an address: the URI of a resource or template, or the id of a task. The first server
//     that lists or names one keeps it; among servers that are listed together that is the order of
//     their names. Another server's gets a mark, wherever a client sees it. A URI in a list counts
//     before one that only matches a template.
//   - A slow server delays at most one answer, a list, by at most the grace of the
//     upstream.Box. Items that arrive later are announced.
//   - A server's question is refused if it is not clear which call it belongs to, or if the client
//     does not offer to answer such questions. Other requests of servers, outside of the protocol,
//     are passed to clients of the older versions.
//   - The list of tools of a program that announces changes is kept for the connection until a change
//     is announced (kept.go). Other servers are asked for each list: over HTTP an announcement may
//     be missed. A kept list is compared with the pins as they are when a client asks.
//   - A tool that is not listed because a user must agree to it first is refused without asking its
//     server. All tools of a list that differ from their pins are logged in one line, once for all
//     clients.
//   - A tool's pin is compared with a list of the connection that the call is sent on, which was
//     requested after all changes that were announced before the call.
//   - Errors pass as they were written, with their data, in both directions.
//   - A call of a server that gives no sign of life for its call timeout is given up
//     (silence.Watch).
//
// Every mutex is a leaf. A caller owns the goroutines of its parts and of the calls that wait
// for them; Serve returns after they have ended.
//
// # Why
//
// An aggregate is a server itself and not a relay, because its lists and names are combined from
// many servers, and because versions differ in questions: at 2026-07-28 a question is the result of
// a call, at the older versions it is a request during the call. Such a call stays open at the
// server while the client has the question, under a handle that cannot be guessed; the client's
// second call continues the first. Our agent's introduction is its own answer to initialize, to
// which capabilities are added. Changes of lists and subscriptions to resources are declared before
// it is known whether a server supports them. A client gets the instructions of servers only once,
// when it begins: the first client waits for them for at most three seconds, and no longer than the
// grace. A client of the early dialect gets the agent alone (early.go).
//
// At 2026-07-28 over HTTP, requests do not identify their client: those of one principal, name and
// set of capabilities share a side. If several calls are open there at an older server, a question
// cannot be assigned to one of them and is refused. A call that waits for answers to its questions
// is given up when another call is open, because a client whose dialog was closed never comes back.
//
// The servers follow the configuration (Server.Update): a change ends only the connections to the
// servers that it changes, and the client's session continues.
//
// Serve serves clients over a pipe. Over HTTP a streamable.Handler serves them and connects them by
// Connect; the command joins the two.
package aggregate
