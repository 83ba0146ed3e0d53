// Package upstream is a client of MCP servers. They become toolboxes for our own sessions, and
// the source of bridge/relay and bridge/aggregate for MCP clients.
//
// # Vocabulary
//
// A [Server] is an upstream MCP server in the configuration, an [Endpoint] its program or
// address. A [Box] presents all of them as a core.Toolbox. An upstream is one session's
// connection to one server. A [Keeper] makes a connection, and makes it again when it breaks,
// according to a table (keeper.go). A [Link] carries messages to a server and back, one a line,
// over a pipe to a child (link.go), Streamable HTTP or HTTP with SSE (package streamable). A
// [Peer] is the server at the other end of a link, on a wire.Conn (peer.go). A process is a child
// with one owner. An offer is the list of a server's features other than tools: prompts, which
// become commands, and resources (offer.go). A pin is the description of a tool when it was first
// seen (pins.go). Package bridge/login makes the logins to servers that require one; a Box has
// the connections that they start or end (logins.go).
//
// An [Export] is a server as offered to MCP clients (export.go). A [View] is the server's list of
// tools on one connection: it removes from lists the tools that clients do not get (judged.go), and
// judges calls (view.go). A [Ruling] describes how to proceed with a call that is not refused; if a rule
// requires that the client's user is asked, a consent is the call that waits for the answer
// (consent.go). An [Audit] is the record of one call.
//
// # Invariants
//
//   - A session has connections of its own: the requests and notifications of a server do not
//     name the caller that they are for.
//   - No server delays another, or the opening of a session. A turn waits a little, for all
//     together, for servers of whose tools nothing is known (set.Await). The tools of others are
//     those of their last list or their pins, until they run.
//   - A change of the configuration ends connections to changed servers, and no others, in
//     sessions and in clients of an aggregate; there a client connects again to use the changes.
//     A server that a user has stopped is started only by a user. A login starts the connections
//     that wait for it, and a logout ends those that were made with it.
//   - A tool has the name that its server gave it, in Spec.Name, and the server in Spec.Server;
//     code that joins the two to one name keeps an index to find them again.
//   - One malformed tool does not affect the others: it is repaired or left out, for sessions and
//     clients alike (package definition). An answer over the limit of one message ends its call with
//     an error (oversized.go).
//   - An interrupted call is repeated only if the tool is declared harmless to repeat. The reason
//     why a server does not run is the end of its standard error.
//   - A question of a server reaches the user while one of its tools is called, and names the
//     server. A missing answer is never taken for a yes. The session's folders are no question:
//     a server may ask for them at any time, and is notified when they have changed.
//   - A tool that differs from its pin is used only after the user has agreed, and until then a
//     model reads its old description. MCP clients cannot get round that. All processes share the
//     pins.
//   - A call of an MCP client is judged by the arguments that the server gets. If a rule requires
//     a question, the server gets the call, exactly as shown, once the client's user has agreed,
//     or nothing at all. An answer is for one call.
//   - A server that a client brings along is started after the user has agreed, which may be a
//     permanent consent to the same program in the same folder; it ends when the client leaves. A
//     name in the user's own configuration takes precedence.
//   - Children get a safe part of our environment and their configured variables. They end with
//     the session, and soon after us when we are killed.
//   - Output of a server outside of the protocol ends no connection and is not answered. When it
//     is logged, the server's environment and headers are hidden in it.
//
// # Locks and goroutines
//
// Every mutex is a leaf. A toolset owns a goroutine for each server, which owns the peer's and
// those of open questions to the user; Close waits for them all. A peer's handler runs on the
// goroutine that reads and never blocks, so that progress and log messages stay before the
// answer.
//
// # Why
//
// The connections use adapters/wire and not the SDK's client. With the SDK's, the first line that
// is not a message ends a stdio connection; notifications go through a queue that the answer
// overtakes, so that the last ones are lost; forms that the protocol allows are refused; and
// results are decoded and encoded again, numbers through float64. A wrapper around its HTTP
// transport solves none of that, because it hides methods by which the SDK passes it the version.
// The servers of the tests are the SDK's, over every transport and in both eras.
//
// The last version with a handshake is offered first, and 2026-07-28 if a server does not know a
// handshake: on the older one a server announces changes of lists and asks questions without
// being polled, and nearly all speak it. A server that refuses a date is offered the number that
// the protocol had for a version before (early.go).
//
// A server on a pipe usually ends when its input does, but its child processes often do not: it
// runs in a group of core/child. A session has one guard for its servers and its commands, a
// client of an aggregate has one, and a relay has one for each start of its server. The Box's guard
// starts servers that belong to no session.
//
// An MCP client has no user whom we could ask about a changed tool. The tool is listed as it was
// pinned, and the error of a call explains to the user what to do, without any of the server's
// words; a new tool is not listed. A client need not list the tools before its first call: the
// owner of the connection lists them first, and again after the server announces a change
// (View.Know).
//
// Limits: an HTTP server may list other tools to a session than it does to us, and calls of tools
// that are in no list through us are refused; for processes, see core/child.
package upstream
