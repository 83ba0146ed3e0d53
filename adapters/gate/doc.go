// Package gate is the front door of what we serve over HTTP. It lets in who may come in,
// says who that is, and hands the request to the handler that is mounted at its path; it
// knows no protocol.
//
// # Who may come in
//
// A request is looked at in this order. Its Host must be this machine's loopback name,
// the address that is listened on, or a name that was allowed: a web page cannot reach
// us under a name of its own that it points here (DNS rebinding). Its Origin, which
// browsers send, must be the same host or one that was allowed. Its bearer token must be
// ours, and tells the principal; without a token everybody is [core.Local], which is fit
// for loopback only. A body may have [Options.MaxBody] bytes and must arrive in time,
// and a client must take what is written in time.
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
// text: who is refused here has not shown yet which protocol it speaks.
package gate
