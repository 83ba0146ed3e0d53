// Package gate is the front door of our HTTP server. It admits requests, identifies their
// principal, and passes them to the handler that is mounted at their path. It knows no
// protocol.
//
// # Admission
//
// A request is checked in this order. Its Host must be this machine's loopback name, the
// listener's address, or an allowed name: a web page cannot reach us under a name of its own
// that resolves to this machine (DNS rebinding). Its Origin, which browsers send, must be the
// same host or an allowed one. Its bearer token must be ours, and determines the principal;
// without a token every request is of [core.Local], which is suitable for loopback only. A body
// may have [Options.MaxBody] bytes and must arrive in time, and a client must read the response
// in time.
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
package gate
