// Package mcp offers the gateway's agent to other agents: a Model Context Protocol server over
// standard input and output and over Streamable HTTP, protocol versions 2024-11-05 to 2026-07-28
// and the early dialect before them, whose version was a number.
//
// # Vocabulary
//
// A [Server] serves connections. A host serves the clients of one holder: it is the SDK's
// server with the tools, prompts and resources. A client is a sender of requests: a pipe, a
// session of the protocol over HTTP, or at 2026-07-28 over HTTP, where requests are independent
// of each other, all requests under one name. It holds a core.Attachment for each of the last 256
// sessions that it has named. A turn is the fold of a core turn's records: a tool's result is
// derived only from it. The client keeps the folds of turns that somebody may poll. A guest
// (wire.Guest) is an HTTP client's place among those that are served at a time, and a visit is
// the state kept for it between two requests. A door is the entrance of one holder over HTTP:
// the SDK's two handlers over one host; each request is passed to the handler for its version
// (http.go).
//
// Package edge rewrites messages that the SDK or clients would misread, over a pipe and over
// HTTP.
//
// Besides tools there are resources, which are read from the log or the board (resources.go,
// board.go), and for each session with a subscription a goroutine that follows it (watch.go);
// prompts, which are the core's commands (prompts.go); and tasks: a turn that outlives its call
// can be a task, whose state is also read from the log, so that it outlives the process
// (tasks.go).
//
// # Order
//
// A call that names a session has a place in that session's line, taken when the call was read
// (package edge). A tool waits for its place, performs the ordered part (a prompt is admitted, a
// cancel is passed on) and gives the place up, at the latest with its answer. So a cancel in the
// same write as its prompt is never lost, and a later prompt is not refused because of the turn
// that is about to end. Over HTTP a cancel that overtakes its request waits for it
// (streamable.Calls).
//
// # Waiting
//
// A tool that follows a turn reads the session's log on its own goroutine until the turn has
// ended, a person must be asked and the client cannot do that, or wait_seconds are over
// (follow.go). Until then a caller that gave a token gets progress at least every 10 seconds
// (progress.go).
//
// Questions are level-triggered: the open questions in the log are compared with those put to the
// client, at 2025-06-18 and 2025-11-25 as requests (elicit.go), at 2026-07-28 as a result that
// the client answers by calling again (again.go). A missing or unintelligible answer is never
// taken for a yes. The agent's own questions take the same ways (question.go), except for
// secrets. A dialog at the client outlives the call that opened it: its answer counts whenever it
// comes, and a dialog is withdrawn when its question is settled elsewhere. A dismissed dialog has
// decided nothing: the turn waits.
//
// answerer.go decides who may answer an open question. While a dialog is open only the client's
// user may. If the client has no dialogs, or this one was dismissed, the calling model may, by
// agent_approve. A call that only a person may allow can only be rejected by the model.
//
// A client that declares sampling lends its model to the turns that it prompts (sample.go). A
// request of such a turn to the model waits in the same way for a call that follows the turn,
// because our requests belong to one of the client's. It is sent and answered in the same two
// ways. It is abandoned when the client leaves, the turn ends, or its deadline passes.
//
// # Which sessions
//
// A client reaches only sessions whose folders all lie within its roots (roots.go, package
// folders); for the client, other sessions do not exist. It answers questions only in sessions
// that it has created or prompted, and deletes only those: the log of a session names the
// core.Caller of each prompt. A client with a token of its own has the token's caller, so this
// holds for all its connections.
//
// What a client may send at all depends on the rights of its token (package permit). A client that
// may not answer is attached as one that cannot be asked, and one that may only watch as an
// observer.
//
// # Locks and goroutines
//
// Every mutex is a leaf: nothing is called, sent or written while one is held. [Server.Serve]
// reads on its own goroutine and ends after the writer, the SDK's sessions, every tool and every
// question have ended. [HTTP.Close] does the same over HTTP. The SDK starts a goroutine for each
// call; a tool starts one for each question that it puts to the client, and over HTTP one that
// ends it with its client. A host has one that follows the board.
//
// # Why
//
// Over HTTP the SDK's own handlers are used, one for the older life cycle and another for the
// newer one, because each refuses the other's requests.
//
// Clients of 2026-07-28 over HTTP share the state held under their name: an approval must outlive
// the request that it was returned to, and nothing else shows that two requests are from one
// client.
//
// Over HTTP nothing shows that a client has left, so each session of the protocol, and at
// 2026-07-28 each name, is a guest with a place (http_guests.go). There are 1,000 places, and 250
// for one program on one machine. A program is identified by the holder, the address without
// its port, and the name in clientInfo together, because a proxy hides addresses and names can be
// made up. When all places are taken, the guest that has been silent for longest makes room. A
// guest that is silent for 15 minutes is ended; if its client is still there, its next request
// gets "not found", and according to the protocol it begins again. An open request, a stream or a
// running turn keeps a place. No turn ends with its client: it can be found later (agent_wait,
// tasks/get).
//
// Only clients that have read the list of resources, or have subscribed to it, are notified of
// its changes: sessions come and go with every prompt.
//
// A prompt to a busy session is refused, with the running turn in the error, and not queued: the
// caller is a program that can wait or cancel, and a second answer in one session would be taken
// for that of the first prompt.
//
// The decision in the elicitation form is not marked as required, although it always has a default:
// clients that check an accept without content against the form would turn a yes into an error.
package mcp
