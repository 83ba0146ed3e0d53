// Package wire carries JSON-RPC 2.0 over a byte stream for every dialect: framing,
// envelopes, a queue of output and the small engine [Conn]. It knows no method of any
// protocol.
//
// # Vocabulary
//
// A frame is one JSON text as it stands in the stream, a line ([Newline]) or a body
// behind headers ([ContentLength]). A [Framer] takes frames out of a reader, a [Writer]
// puts them into one, and a [Message] is a frame's envelope taken apart by [Parse]. A
// [Call] is a request or notification of the peer's; an [Asked] is a request of ours. A
// [Protocol] serves a connection's calls; where several share a stream, the first call
// chooses ([Conn.ServeFirst]). An [Edge] rewrites messages for a peer that speaks an older
// form of its protocol; there is none for others, and what it costs them is one load of a
// pointer for each message. Method tables, handlers and error values are jrpc2's:
// jrpc2.Handler, handler.Map, *jrpc2.Error, jrpc2.Code.
//
// # Order
//
// A connection's handler runs on the goroutine that reads, one call after the other, in
// the order of the stream, and never blocks: it answers, or hands its *Call to whoever
// will. The place of an answer among everything else we send is where [Call.Reply] is
// called, and the place of a notification where [Conn.Notify] or [Conn.PutLines] is;
// nothing overtakes anything once it is queued. Answers to our own requests are handed
// over on the reading goroutine too.
//
// # Bounds
//
// A frame is at most [MaxMessage] bytes, its nesting at most [MaxDepth]. Requests that
// are not answered yet are limited ([Options.MaxOpen]): one more is refused at once, and
// the reading goes on, for the answer that frees a place may stand behind it. Only
// answers which the peer does not read stop the reading ([Options.MaxReplies]); it goes
// on when the peer does. Pumps wait for room themselves ([Writer.Room]); answers never
// wait.
//
// Over HTTP no connection shows that a client has left. [Guests] bounds what is kept for
// such clients: the client that has been silent for longest makes room, and one that is
// silent for too long is ended.
//
// # Faults
//
// No input ends a connection. What is not a frame, not JSON or not an envelope is
// answered with -32700 or -32600, and the next frame is looked for. Whatever looks like
// an answer is never answered, so that two faulty peers cannot keep each other busy. A
// handler that panics is answered with -32603, and no text of the panic leaves the
// process.
//
// # Locks and goroutines
//
// Every mutex here is a leaf: nothing else is locked, called back, sent to or written
// while one is held. [Conn.Serve] starts the writer's goroutine and one that ends a
// blocked read; [Writer.Run] starts one that ends a blocked write. Each returns after
// what it started has ended.
//
// # Why
//
// jrpc2's own server and client are not used on an editor's or agent's stream, for
// measured reasons: the server starts a later notification before an earlier request
// (994 of 1,000), writes while it holds the lock that reading needs, so that a client
// that stops reading cannot be heard, and allocates twice what a Content-Length claims
// before any of it has come; its client reordered 19,210 of 20,000 notifications. The
// engine here needs a fifth of the processor time a request (BenchmarkRequests) and puts
// none of 6,000 updates and 2,000 released answers out of place.
//
// Limits on open requests were first a gate at which the reader waited. With as many
// approvals open as the gate had places the answers stood unread behind it, so open
// requests are refused instead.
//
// Names in JSON are compared exactly, here and in parameters ([Unmarshal]).
// encoding/json folds their case, and then a gateway reads another message than the
// program behind it: {"method":"a","Method":"b"} has one method, a.
package wire
