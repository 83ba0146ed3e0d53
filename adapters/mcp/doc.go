// Package mcp offers the gateway's agent to other agents: a Model Context Protocol server over
// standard input and output and over Streamable HTTP, protocol versions 2024-11-05 to 2026-07-28 and
// those before, which had a number for a version.
//
// # Vocabulary
//
// A [Server] serves connections. A host is what the clients of one principal are served from: the
// SDK's server with the tools, prompts and resources. A client is who sends requests: a pipe, a
// session of the protocol over HTTP, or at 2026-07-28 over HTTP, where no request knows of another,
// all requests under one name. It holds a core.Attachment for each of the last 256 sessions that it
// has named. A turn is the fold of a core turn's records: what a tool's result says is derived from
// it and from nothing else; the client keeps the folds of turns that somebody may poll. A guest
// (wire.Guest) is an HTTP client's place among those that are served at a time, and a visit is what
// is kept for it between two requests. A door is what one principal comes in by over HTTP: the SDK's
// two handlers over one host, and each request is handed to one of them by what it says (http.go).
//
// What the SDK and clients would misread in each other's messages is rewritten by package edge, over
// a pipe and over HTTP.
//
// What is no tool: resources are read from the log or the board (resources.go, board.go), and a
// goroutine for each session that somebody has subscribed to follows it (watch.go); prompts are the
// core's commands (prompts.go); a turn that outlives its call can be a task, whose state is read
// from the log as well, so that it outlives the process (tasks.go).
//
// # Order
//
// A call that names a session has a place in that session's line, which it took when it was read
// (package edge). A tool waits for its place, does what needs it (a prompt is admitted, a cancel is
// passed on) and gives it up; its answer gives it up at the latest. So a cancel in the same write as
// its prompt is never lost, and a prompt behind it is not refused for the turn that is about to end.
// Over HTTP a cancel that overtakes its request waits for it (streamable.Calls).
//
// # Waiting
//
// A tool that follows a turn reads the session's log on its own goroutine until the turn has ended,
// a person must be asked whom the client cannot ask, or wait_seconds are over (follow.go). Until
// then a caller that gave a token gets progress at least every 10 seconds (progress.go).
//
// Questions are level-triggered: what the log says is waiting is compared with what has been put to
// the client, at 2025-06-18 and 2025-11-25 as requests (elicit.go), at 2026-07-28 as a result that
// the client answers by calling again (again.go). No answer, and no answer that cannot be
// understood, is ever taken for a yes. The agent's own questions go the same ways (question.go), but
// for secrets. A dialog at the client outlives the call that opened it: its answer counts whenever
// it comes, and a dialog is withdrawn when its question is settled elsewhere. A dialog that was
// dismissed has decided nothing: the turn waits.
//
// standing.go decides who may answer a question that waits. While a dialog is open only the client's
// user may. If the client has no dialogs, or this one was dismissed, the calling model may, by
// agent_approve. What only a person may allow the model can only reject.
//
// A client that declares sampling lends its model to the turns that it prompts (sample.go). What
// such a turn asks the model waits in the same way for a call that follows the turn, since a request
// of ours belongs to one of the client's; it is put and answered by the same two means. It is given
// up when the client leaves, the turn ends, or its deadline passes.
//
// # Which sessions
//
// A client reaches only sessions whose folders all lie within its roots (roots.go, package folders);
// to the client any other session does not exist. It answers questions only in sessions that it has
// begun or prompted, and deletes only those: the log of a session names the core.Caller of each
// prompt.
//
// # Locks and goroutines
//
// Every mutex is a leaf: nothing is called, sent or written while one is held. [Server.Serve] reads
// on its own goroutine and ends after the writer, the SDK's sessions, every tool and every question
// have ended. [HTTP.Close] does the same for what is served over HTTP. The SDK starts a goroutine
// for each call; a tool starts one for each question that it puts to the client, and over HTTP one
// that ends it with its client. A host has one that follows the board.
//
// # Why
//
// Over HTTP the SDK's own handlers are used, one for the older life cycle and another for the newer
// one, since each refuses the other's requests.
//
// Clients of 2026-07-28 over HTTP share what is held under their name: an approval must outlive the
// request that it was returned to, and nothing else says that two requests are from one client.
//
// Over HTTP nothing shows that a client has left, so each session of the protocol, and at 2026-07-28
// each name, is a guest with a place (http_guests.go). There are 1,000 places, and 250 for one
// program on one machine. A program is identified by the principal, the address without its port,
// and the name in clientInfo together, since a proxy hides addresses and names can be made up. When
// all places are taken the guest that has been silent for longest makes room. A guest that is silent
// for 15 minutes is ended; if its client is still there its next request gets "not found", and the
// protocol has it begin anew. An open request, a stream or a running turn keeps a place. No turn
// ends with its client: whoever asks for it later finds it (agent_wait, tasks/get).
//
// A notification that the list of resources has changed goes to those alone who have looked at the
// list, or have asked for it: sessions come and go with every prompt.
//
// A prompt to a busy session is refused, with the turn that runs in the error, rather than queued:
// the caller is a program that can wait or cancel, and a second answer under one session would be
// read as the first one's.
//
// The decision in the elicitation form is not marked as required, although it always has a default:
// clients that check an accept without content against the form would turn a yes into an error.
package mcp
