// Package edge stands between an MCP client and the official library, and rewrites what
// either would misread.
//
// A [Link] is a client's pipe, and a lane is one life cycle on it: the legacy lane
// begins with initialize, on the modern lane (2026-07-28) every request stands alone.
// Each lane is an mcp.Transport with an SDK session of its own, so that both can be
// spoken on one pipe. A [Call] is a request of the client's that is not answered yet.
// A client of this process has a link without bytes (local.go), on which messages are decoded.
// Over HTTP the SDK's own handlers read and write, and a [ResponseWriter] looks at what
// they say. A [Filter] serves clients of the first days, which have a number for a version;
// nothing else knows of them (early.go).
//
// # Order
//
// The SDK runs tool calls beside each other. What must keep the order of the stream is
// decided on the goroutine that reads: a call that names a session takes its [Place]
// there (order.go), and a cancel ends the context of the call that it names before
// anything behind it is read. Every mutex is a leaf: nothing is called, sent or written
// while one is held.
//
// # Why
//
// The SDK's own stdio transport ends at the first line that is not a message, passes ids
// through float64 and never answers a repeated one; hence the link. Its session has one
// state, so that a client which asks server/discover first and then says initialize is
// refused as a duplicate; hence the lanes. The protocol version that a client invents is
// replaced by the one that will be negotiated, since the SDK compares the client's own
// text with later versions.
//
// Over HTTP the SDK's transport alone can tell to which call a notification belongs.
// What it writes is looked at on the way out (response.go), because it leaves content as
// null where there is none, gives plain errors the code 0, and knows nothing of
// filters. Parameters are checked before the SDK decodes them (params.go): its
// errors name Go types and repeat what was sent.
package edge
