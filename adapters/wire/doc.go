// Package wire carries JSON-RPC 2.0 over a byte stream for every dialect: framing,
// envelopes, a queue of output and the small engine [Conn]. It knows no method of any
// protocol.
//
// # Vocabulary
//
// A frame is one JSON text in the stream: a line ([Newline]), or a body after headers
// ([ContentLength]). A [Framer] reads frames from a stream, a [Writer] writes them to one, and a
// [Message] is a frame's envelope, parsed by [Parse]. A [Call] is a request or notification of the
// peer; an [Ask] is a request of ours. A [Protocol] serves a connection's calls; if several share
// a stream, the first call chooses one ([Conn.ServeFirst]). An [Edge] rewrites messages for a peer
// that speaks an older form of its protocol; other connections have none, and pay one load of a
// pointer for each message. Method tables, handlers and error values are jrpc2's:
// jrpc2.Handler, handler.Map, *jrpc2.Error, jrpc2.Code.
//
// # Order
//
// A connection's handler runs on the goroutine that reads, one call after the other, in
// the order of the stream, and never blocks: it answers the call, or passes it on to be answered
// later. Our messages leave in the order of the calls of [Call.Reply], [Conn.Notify] and
// [Writer.PutLines]; none overtakes another one in the queue. Answers to our own requests are
// delivered on the reading goroutine, too.
//
// # Bounds
//
// A frame is at most [MaxMessage] bytes, its nesting at most [MaxDepth]. Requests that
// are not answered yet are limited ([Options.MaxOpen]): one more is refused at once, and reading
// continues, because the answer that another request waits for may come next. Reading only stops
// while the peer does not read our answers ([Options.MaxReplies]). Pumps wait for room themselves
// ([Writer.Room]); answers never wait.
//
// Over HTTP no connection shows that a client has left. [Guests] limits the memory for such
// clients: the client that has been silent for longest makes room, and one that is silent for too
// long is ended.
//
// # Faults
//
// No input ends a connection. Input that is no frame, no JSON or no envelope is answered with
// -32700 or -32600, and the next frame is looked for. Input that looks like an answer is never
// answered, so that two faulty peers cannot keep each other busy. A
// handler that panics is answered with -32603, and no text of the panic leaves the
// process.
//
// # Locks and goroutines
//
// Every mutex here is a leaf: no other lock, callback, channel or stream is used while one is
// held. [Conn.Serve] starts the writer's goroutine and one that ends a blocked read; [Writer.Run]
// starts one that ends a blocked write. Each returns after the goroutines that it has started.
// A small message is written by the goroutine that puts it if the queue is empty and the stream
// takes it without waiting, because waking the writer's goroutine takes longer than the write.
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
// At first the reader waited while too many requests were open. When all of them were approvals,
// their answers stayed unread, so requests are refused instead.
//
// Names in JSON are compared exactly, here and in parameters ([Unmarshal]).
// encoding/json ignores their case, so a gateway would read a different message than the program
// behind it: {"method":"a","Method":"b"} has one method, a.
package wire
