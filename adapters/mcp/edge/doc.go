// Package edge connects an MCP client with the official library, and rewrites messages that
// either would misread.
//
// A [Link] is a client's pipe, and a lane is one life cycle on it: the legacy lane begins with
// initialize, on the modern lane (2026-07-28) every request is independent. Each lane is an
// mcp.Transport with an SDK session of its own, so that both can be spoken on one pipe. A [Call]
// is an unanswered request of the client. A client of this process has a link without bytes
// (local.go), on which messages are decoded. Over HTTP the SDK's own handlers read and write, and
// a [ResponseWriter] checks their output. A [Filter] serves clients of the early dialect, which
// have a number for a version; no other code knows that dialect (early.go).
//
// # Order
//
// The SDK runs tool calls concurrently. The goroutine that reads makes all decisions that must
// keep the order of the stream: a call that names a session takes its [Place] there (order.go),
// and a cancel ends the context of the call that it names before the next message is read. Every
// mutex is a leaf: nothing is called, sent or written while one is held.
//
// # Why
//
// The SDK's own stdio transport ends at the first line that is not a message, passes ids through
// float64 and never answers a repeated one; hence the link. Its session has one state, so that a
// client which sends server/discover first and then initialize is refused as a duplicate; hence
// the lanes. A protocol version that a client invents is replaced by the one that will be
// negotiated, because the SDK compares the client's own text with later versions.
//
// Over HTTP only the SDK's transport knows the call that a notification belongs to. Its output is
// corrected (response.go), because it writes missing content as null, gives plain errors the code
// 0, and knows nothing of filters. Parameters are checked before the SDK decodes them
// (params.go): its errors name Go types and repeat the client's message.
package edge
