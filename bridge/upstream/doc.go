// Package upstream speaks to MCP servers as their client. They become toolboxes for our
// own sessions, and what bridge/relay and bridge/aggregate give to the clients of others.
//
// # Vocabulary
//
// A [Server] is an upstream MCP server as it is configured, an [Endpoint] where it
// is. A [Box] is all of them as a core.Toolbox. An upstream is one session's
// connection to one server. A [Keeper] makes a connection, and makes it again when
// it breaks, as a table says (keeper.go). A [Link]
// carries messages to a server and back, one a line, over a pipe to a child
// (link.go), Streamable HTTP or HTTP with SSE (package streamable). A [Peer] is a
// server that is spoken to over a link by a wire.Conn (peer.go). A process is a
// child with one owner. An offer is what a server has beside tools: prompts, which
// become commands, and resources (offer.go). A pin is what a tool said of itself
// when it was first seen (pins.go). Logins to servers that want one are bridge/login's;
// a Box has the connections that they let in or end (logins.go).
//
// An [Export] is a server as MCP clients are given it (export.go). A [View] is what the
// server has said of its tools on one connection: it takes out of lists what clients do
// not get, and judges their calls (view.go). A [Ruling] says how to proceed with a call
// that nothing refuses; where a rule wants the client's user to be asked, a consent is the
// call that waits for the answer (consent.go). An [Audit] is the record of one call.
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
//   - One malformed tool costs nobody the others: it is repaired or left out, for sessions
//     and clients alike (definition.go). An answer over the limit of one message ends its
//     call with an error (oversized.go).
//   - A call that broke off is repeated only where the tool says that this does no
//     harm. A server that does not run says why: the end of its standard error.
//   - A question of a server's reaches the user while one of its tools is called, and
//     says whose it is. No answer is never taken for a yes.
//   - A tool that is not what was pinned is used only after the user has agreed, and
//     until then a model reads what it said before. MCP clients cannot get round that.
//     All processes share the pins.
//   - A call of an MCP client's is judged by what the server gets. Where a rule wants it
//     asked about, the server gets the call, as it was shown, once the client's user has
//     agreed, or nothing at all. An answer is for one call.
//   - What a client brings along is started after the user has agreed, which may be for
//     good to the very same program in the same folder; and it ends when the client
//     leaves. A name of the user's own configuration means that.
//   - Children get a safe part of our environment and what they are given. They end
//     with the session, and soon after us when we are killed.
//   - What a server prints beside the protocol ends no connection and is not answered.
//     Where it is told, what the server was given as environment and headers is hidden.
//
// # Locks and goroutines
//
// Every mutex is a leaf. A toolset owns a goroutine for each server, which owns the
// peer's and those of the questions that are with the user; Close waits for them all.
// A peer's handler runs on the goroutine that reads and never blocks, so that
// progress and log messages keep their place before the answer.
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
// date is offered the number that the protocol had for a version before (early.go).
//
// A server on a pipe mostly ends by itself when its input does, but what it has
// started often does not: it is a group of core/child's. A session has one guard for its
// servers and its commands, and each client of an aggregate or a relay has one. Servers
// that belong to no session are started by the Box's guard.
//
// For an MCP client there is no user of ours to ask about a tool that has changed. It is
// listed as it was pinned, so that a call of it tells the user what to do, in words
// that none of the server's are among; a new one is not listed. A client need not
// have listed the tools before its first call: whoever has the connection lists them
// first, and again after the server says that they have changed (View.Know).
//
// What this does not cover: an HTTP server may list other tools to a session than it
// does to us, and calls of those that no list through us has shown are refused; and
// of processes what core/child does not.
package upstream
