// Package upstream is the upstream side of the gateway: what stands behind the core
// instead of in front of it. MCP servers become toolboxes, agents that speak ACP or
// ECA become back ends, and every child process has one owner.
//
// # Vocabulary
//
// A [Server] is an upstream MCP server as it is configured, an [Endpoint] where it
// is. A [Box] is all of them as a core.Toolbox. An upstream is one session's
// connection to one server. A [Keeper] makes a connection, and makes it again when
// it breaks, as a table says (keeper.go). A link
// carries messages to a server and back, one a line, over a pipe to a child
// (link.go), Streamable HTTP or HTTP with SSE (package streamable). A peer is a
// server that is spoken to over a link by a wire.Conn (peer.go). A process is a
// child with one owner. An offer is what a server has beside tools: prompts, which
// become commands, and resources (offer.go). A pin is what a tool said of itself
// when it was first seen (pins.go). Logins to servers that want one are bridge/login's;
// a Box has the connections that they let in or end (logins.go). A [Relay] hands one
// server on to clients. A filter says what of a server's tools they get, and a sight is what the
// server has said of its tools on one connection (filter.go). A consent is a call that a
// client of 2026-07-28 asks its user about (consent.go), a dialog the form that a relay
// shows an older one (relay_consent.go). An [Audit] is the record of one call.
//
// An [Aggregate] shows our own agent and all servers to clients as one. A caller is a
// client's connection to it. A side is one way of being a client there: since its
// initialize, or, at 2026-07-28, by the name and the capabilities that its requests
// say. A part is a server behind a side, or our agent, which speaks MCP over a pipe
// within the process; a pass is a request on its way to a part and back. What a part
// lists goes into a snapshot, of which the client gets pages; names (aggregate_names.go)
// and routes (aggregate_routes.go) find whose something is. Where there are too many
// tools for a client, it is shown two that find the others (aggregate_search.go).
//
// # Invariants
//
//   - A session has connections of its own: what a server asks or tells does not say
//     which of its callers it is for.
//   - No server keeps another, or a session's opening, waiting. Listing the tools
//     waits a little, for all together, where nothing is known of a server yet.
//   - A change of the configuration ends connections to what has changed, and no
//     others, be they a session's or a client's of an aggregate; there a client connects
//     again to use what is new. A server that somebody has stopped is started by nobody
//     else. A login makes the connections that wait for it, and a logout ends those that
//     were made with it.
//   - A tool has the name that its server gave it, in Spec.Name beside Spec.Server;
//     whoever joins the two to one name keeps an index to find them again.
//   - A call that broke off is repeated only where the tool says that this does no
//     harm. A server that does not run says why: the end of its standard error.
//   - A question of a server's reaches the user while one of its tools is called, and
//     says whose it is. No answer is never taken for a yes.
//   - A tool that is not what was pinned is used only after the user has agreed, and
//     until then a model reads what it said before. A relay's clients cannot get round
//     that. All processes share the pins.
//   - What a client brings along is started after the user has agreed, which may be for
//     good to the very same program in the same folder; and it ends when the client
//     leaves. A name of the user's own configuration means that.
//   - A relay passes messages as they were written, session to session. The exception
//     is a program's one connection for all requests of 2026-07-28 of a principal,
//     where ids and progress tokens are exchanged and put back. Where a rule wants a call
//     asked about, the question and its answer are between us and the client: the server
//     gets the call, as it was shown, once the client's user has agreed, or nothing at
//     all. Nothing else waits for that, in either direction. A client's key is
//     never sent on, nor is ours told to it.
//   - A client over HTTP that left without a word keeps nobody out. A relay serves 64
//     clients, 48 of them of one program: sessions, and connections for requests of
//     2026-07-28. The client that has been silent for longest makes room, and one that is
//     silent for 15 minutes is ended, unless a request, a stream or, in an aggregate, a
//     turn of our agent's is under way.
//   - Children get a safe part of our environment and what they are given. They end
//     with the session, and soon after us when we are killed.
//   - What a server prints beside the protocol ends no connection and is not answered.
//     Where it is told, what the server was given as environment and headers is hidden.
//
// In an aggregate:
//
//   - Each side has connections of its own, dialled at the client's version and with the
//     client's own name and capabilities, no more and no less; a server that refuses the
//     version is spoken to at another, and what the two have differently is translated.
//   - What is said passes as raw JSON, session to session. Only what has to be is put in
//     its place: another name, another progress token, the gateways that a call has
//     passed, what the other version wants to be said.
//   - A name that was given keeps its meaning while the client stays. What it means is
//     looked up, never read from it. Our agent's tools keep theirs.
//   - Nothing is answered later because of a server that does not answer, but a list,
//     once, for as long as the grace is. What comes later is told of.
//   - Which call a question of a server's belongs to must be clear, or it is refused;
//     what the client does not offer is refused at once.
//
// # Locks and goroutines
//
// Every mutex is a leaf. A toolset owns a goroutine for each server, which owns the
// peer's and those of the questions that are with the user; Close waits for them all.
// A peer's handler runs on the goroutine that reads and never blocks, so that
// progress and log messages keep their place before the answer. A caller owns the
// goroutines of its parts and of what waits for them; Serve returns after them all.
//
// # Why
//
// Servers are spoken to by adapters/wire and not by the SDK's client. Over the
// SDK's, the first line that is no message ends a stdio connection; notifications go
// through a queue that the answer overtakes, so that the last ones are lost; forms
// that the protocol allows are refused; and results are decoded and encoded again,
// numbers through float64. A wrapper around its HTTP transport mends none of that,
// because it hides methods by which the SDK tells it the version. The servers of the
// tests are the SDK's, over every transport and in both eras.
//
// The last version with a handshake is offered first, and 2026-07-28 where a server
// knows no handshake: on the older one a server tells of changed lists and asks
// questions without being polled, and nearly all speak it. A server that refuses a
// date is offered the early dialect's number.
//
// A server on a pipe mostly ends by itself when its input does, but what it has
// started often does not: it is a group of core/child's. A session has one guard for its
// servers and its commands, and each client of an aggregate or a relay has one. Servers
// that belong to no session are started by the Box's guard.
//
// A relay to a server that is an address is a proxy: its streams say what belongs
// to what, and any taking apart loses that. To a program a relay has to guess where
// a message belongs that names no request (a log message, a question): to the newest
// request that is open, as the protocol's suites expect.
//
// What a call costs (BenchmarkCalls in e2e; two busy processors, a server of the SDK's
// that answers 4,080 calls a second over a pipe and 2,020 over HTTP to one caller):
// through a relay 2,760 and 1,250, all servers together 1,950 and 1,090. To 64 callers
// 3,270 and 2,100 directly, 2,890 and 1,710 relayed. The program then has 23 to 28 MiB
// resident, of which 16 are pages of its own file. Writing from a goroutine of its own
// costs nothing that could be measured beside writing at once.
//
// In a relay there is no user of ours to ask about a tool that has changed. It is
// listed as it was pinned, so that a call of it tells the user what to do, in words
// that none of the server's are among; a new one is not listed. A client need not
// have listed the tools: before its first call, and after the server says that they
// have changed, the relay lists them itself, all pages, over the client's own
// connection; where that is a proxy's, over one that is nobody's session.
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
// What this does not cover: an HTTP server may list other tools to a session than it
// does to us, and calls of those that no list through us has shown are refused; and
// of processes what core/child does not.
package upstream
