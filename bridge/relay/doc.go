// Package relay passes one MCP server on to clients unchanged.
//
// # Vocabulary
//
// A [Server] is the server that is passed on, an upstream.Export. An [HTTP] is its face over
// Streamable HTTP. A pipeSession is the session of a client over a pipe (pipe.go, pipe_server.go);
// it outlives its connections to the server (connection.go). A heldLine is a line of the client's
// that waits for a connection, or for the list of tools (hold.go). An httpSession is the session
// of a client over HTTP, with the program that was started for it (session.go), an exchange a
// request there with the stream of its messages (stream.go). A dialog is the form by which a client
// of the older versions is asked whether a call may be made (consent.go); a client of 2026-07-28
// is asked by the call's result (upstream.View). A serverStream carries messages to a server and back
// (early.go).
//
// # What holds
//
//   - Messages pass as they were written, session to session. There are three exceptions. All
//     requests of 2026-07-28 of a holder share one connection to a program, so their ids and
//     progress tokens are replaced and put back. After a restart, the server's questions over
//     a pipe get ids of ours: a late answer to an earlier question of the same id must not
//     be taken for theirs. To a client whose version is a date, a server of the early dialect
//     appears to speak that version (early.go).
//   - In lists of tools, malformed ones are repaired or left out (upstream.View.Shown), and at 2026-07-28
//     over HTTP those with invalid headers (streamable.ParamHeaders).
//   - Over a pipe, a server that ends, or that answers 404 to its session, is started again at the
//     pace of upstream.Keeper. The client's handshake, log level and subscriptions are repeated;
//     the version must be the same as before. The client hears no second answer, only that the
//     lists may have changed. The tools are listed again before the next call, and are held
//     to what was pinned. So they are after each change of the list that the server announces; a
//     list that was requested before does not count for calls that come later.
//   - A request that was open is repeated once if that does no harm (upstream.View.MayRepeat),
//     and answered with an error if it might. The server's own questions are withdrawn. Requests
//     that come later wait for the next start, and are answered with an error if it fails.
//   - Serve returns the reason when the keeper gives up, or if the server never answered. A client
//     that leaves ends everything; nothing is started for it any more.
//   - Where a rule wants a call asked about, the question and its answer are between us and
//     the client; the server hears of neither. Nothing else waits for that, in either
//     direction.
//   - A call that is cancelled while it is judged, or before it came, never reaches the
//     server (streamable.Calls).
//   - A request whose id is null, and a call without an id, are refused: a server might answer what
//     nobody has judged.
//   - A request is given up when the server shows no sign of life for its start or call
//     timeout (patience.go), as in an aggregate. No time passes while the client has a question
//     of the server's, and after the answer the server has all of its time again.
//   - A client's key is never sent to the server, nor is ours to the client.
//   - A client over HTTP that left without notice keeps nobody out. A face serves 64
//     clients, 48 of them of one program: sessions, and connections for requests of
//     2026-07-28. The client that has been silent for longest makes room, and one that is
//     silent for 15 minutes is ended, unless a request or a stream is under way.
//
// Every mutex is a leaf. Serve returns, and HTTP.Close does, after all goroutines of the
// clients have ended.
//
// # Why
//
// A relay to a server that is an address is a proxy over HTTP (proxy.go): the server's streams show
// which messages belong together, and a relay that took them apart would lose that. A program's
// messages that name no request (a log message, a question) go to the newest request that is
// open, as the protocol's suites expect.
//
// Over HTTP nothing is restarted: a client whose session has ended gets 404, and the protocol has
// it begin a new one. Over a pipe a client has no such way, and would have to start us again.
//
// The tools are listed over the client's own connection, all pages. A proxy lists them over a
// connection that belongs to no session.
//
// # Why it is no aggregate of one server
//
// An aggregate without a prefix is as quick for one caller, but it lacks what clients of a relay
// have: methods and notifications outside of the protocol, which an aggregate must refuse since it
// cannot know their server; the server's own answer to initialize, at whatever version the two
// agree on; batches of 2025-03-26; and for a server that is an address its own sessions, event ids
// and headers, stream for stream. Calls a second in one run (BenchmarkCalls in e2e; a busy machine
// with two processors), to 1, 16 and 64 callers over a pipe: directly 6,990, 10,412 and 11,319;
// relayed 3,768, 9,570 and 8,916; through an aggregate 4,708, 8,778 and 6,464.
//
// Writing from a goroutine of its own costs nothing that could be measured beside writing
// at once.
package relay
