// Package gate is the front door of our HTTP server. It admits requests, identifies their
// holder, and passes them to the handler that is mounted at their path. It knows no
// protocol.
//
// # Admission
//
// A request is checked in this order. Its Host must be this machine's loopback name, the
// listener's address, or an allowed name: a web page cannot reach us under a name of its own
// that resolves to this machine (DNS rebinding). Its Origin, which browsers send, must be the
// same host or an allowed one. Its bearer token must be one of those that [Options.Admit] knows,
// and determines the [access.Holder]: who the client is, and what it may do. Without Admit every
// request is of one holder, which is suitable for loopback only. A body may have
// [Options.MaxBody] bytes and must arrive in time, and a client must read the response in time.
//
// A request ends when its token is not admitted any more, within a second or two, also if its
// response is a stream.
//
// # Locks and goroutines
//
// [Gate.Serve] owns the server's goroutines: it returns when all of them have ended, or
// their time is over.
//
// # Why
//
// The deadlines are set on each request and not on the server, because a response may be
// a stream that lasts for hours: the server's ReadTimeout would end it. Errors are plain
// text, because the protocol of a refused request is not known yet.
//
// Guessing is not slowed down: a token has 256 random bits, so a guess costs a checksum and gains
// nothing, and a refused request takes no place among the open ones. A delay or a lock for each
// address would only help others behind the same proxy to lock a client out.
package gate
