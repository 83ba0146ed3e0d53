// Package relay hands one MCP server on to clients.
//
// # Vocabulary
//
// A [Server] is what is handed on: an upstream.Export. An [HTTP] is its face over Streamable HTTP. A relayed is a client over a
// pipe (pipe.go), an httpSession one over HTTP with the program that was started for it
// (session.go), an exchange a request there and the stream of what belongs to it
// (stream.go). A dialog is the form by which a client of the older versions is asked
// whether a call may be made (consent.go); a client of 2026-07-28 is asked by the call's
// result (upstream.View).
//
// # What holds
//
//   - Messages pass as they were written, session to session. The exception is a program's
//     one connection for all requests of 2026-07-28 of a principal, where ids and progress
//     tokens are exchanged and put back. Nothing is renamed. In lists of
//     tools, malformed ones are repaired or left out (upstream.View.Shown).
//   - Where a rule wants a call asked about, the question and its answer are between us and
//     the client; the server hears of neither. Nothing else waits for that, in either
//     direction.
//   - A call that is cancelled while it is judged, or before it came, never reaches the
//     server (streamable.Calls).
//   - A request is given up when the server shows no sign of life for its start or call
//     timeout (patience.go), as in an aggregate. No time passes while a question of the
//     server's is with the client.
//   - A client's key is never sent on, nor is ours told to it.
//   - A client over HTTP that left without a word keeps nobody out. A face serves 64
//     clients, 48 of them of one program: sessions, and connections for requests of
//     2026-07-28. The client that has been silent for longest makes room, and one that is
//     silent for 15 minutes is ended, unless a request or a stream is under way.
//
// Every mutex is a leaf. Serve returns, and HTTP.Close does, after all goroutines of the
// clients have ended.
//
// # Why
//
// A relay to a server that is an address is a proxy (proxy.go): its streams say what belongs
// to what, and any taking apart loses that. To a program a relay has to guess where
// a message belongs that names no request (a log message, a question): to the newest
// request that is open, as the protocol's suites expect.
//
// The tools are listed over the client's own connection, all pages; where that is a
// proxy's, over one that is nobody's session.
//
// # Why it is no aggregate of one server
//
// An aggregate without a prefix is as quick for one caller, and lacks what clients of a
// relay have: methods and notifications of the server's own, which an aggregate would have
// to refuse since it cannot know whose they are; the server's own answer to initialize, at
// whatever version the two agree on; batches of 2025-03-26; and for a server that is an
// address its own sessions, event ids and headers, stream for stream. Calls a second in one
// run (BenchmarkCalls in e2e; a busy machine with two processors), to 1, 16 and 64 callers
// over a pipe: directly 6,990, 10,412 and 11,319; relayed 3,768, 9,570 and 8,916; through
// an aggregate 4,708, 8,778 and 6,464.
//
// Writing from a goroutine of its own costs nothing that could be measured beside writing
// at once.
package relay
