// Package eca serves the Editor Code Assistant protocol: JSON-RPC behind
// Content-Length headers, the server's side.
//
// A [Server] is one connection. Its handlers run on the reading goroutine and
// never wait: what may wait is put into the queue of its chat. One pump reads the
// sessions' logs, and encode.go turns a record into notifications: a pure
// function of a [View] and the record.
//
// # Vocabulary
//
// A chat is what a client calls a session; the client chooses its id. The
// protocol has three documents. What is written here is today's; clients of the two others
// have an edge in their connection (early.go), put in at initialize. The offer is what can
// be chosen: models, agents, variants. A child is the session of a task that was
// handed over, and its chat stands within a call of its parent's. A hint is what the
// user must hear in the chat, once.
//
// Files: lifecycle.go (initialize to exit), configure.go, startup.go (what the client
// is told by itself), chat.go (a chat and its feed), prompt.go, steer.go, approve.go,
// find.go (the search for it), sessions.go (list, open, delete, update, clear),
// history.go (paging), rewind.go (marks, rollback, fork), select.go (choices and
// config/updated), query.go (commands), accounts.go (providers), jobs.go, mcp.go, view.go,
// encode.go, calls.go, details.go and aside.go (records to notifications), task.go (the
// plan), subagent.go (tasks that are handed over), questions.go and editor.go (what the
// client is asked), writing.go (completions and rewrites), early.go (the two early
// documents), params.go (what clients send), errors.go. What a prompt refers to is package
// refer's, and what models are asked outside of chats package compose's.
//
// # What always holds
//
//   - Whatever becomes of a prompt, a progress "finished" follows it: clients leave
//     their loading state on nothing else.
//   - Every notification, and every answer but those to initialize and to wrong
//     parameters, is put into the stream by the pump's goroutine, consequences
//     first: the Emacs client loses what stands behind an answer that it waits for,
//     in the same read.
//   - A tool call begins with toolCallPrepare, its arguments are an object, and
//     what is sent of their text is never sent again.
//   - Where a call of an MCP server's tool is put to the user, invisible characters in
//     its arguments are spelled out: the title has no room for all of them.
//   - Nothing is said of a chat that the client has not named.
//   - What can be chosen is told with what is selected now, and then what each chat
//     has chosen: an update never undoes the user's choice.
//   - The tool "task" of the server "eca" is the plan and nothing else, and nobody is
//     asked about it by that name.
//
// testdata/documents holds the shapes of all messages as the three documents say
// them. Every recorded conversation is checked against the one of its client, field
// by field, and each method, field and word is in one or on a list that says why not.
//
// An MCP server that a client adds is written into the user's own configuration and
// started, program or not, without a question: the client is the user's editor, who
// has started us over a pipe of its own, and the user has typed what stands there.
// Nobody else can: not over a network, and not by what a workspace's files say.
//
// # Goroutines
//
// The Server's WaitGroup owns them all: the pump, the queues, one that watches the
// board, one that watches the client's process, one for what is done with MCP servers,
// in its order, and one for what a request waits for outside of chats: a list, a
// search, a login, the end of a job, a completion, a rewrite, a shutdown. Children are
// looked up by the pump itself, for the client must have them in front of their calls'
// ends. Serve returns after they have ended. The fields of a chat are divided between
// its queue and the pump; each says whose it is.
//
// # Why
//
// Approvals are no requests of ours in this protocol: a toolCallRun that wants an
// approval is a content like any other, so it is encoded from the record. Only a
// replay holds it back until its end, and shows those that wait to this day.
//
// A mark (the protocol's flag) stands behind a message that was said long ago, and
// contents can only be added at a chat's end: so the chat is cleared and shown anew,
// as after a rollback. A mark has an id of its own, for clients keep contents by
// their id; a message's has the message's in it, and either one names both.
//
// A fork holds the content that it was made at, as the protocol's document says: what
// the user asked stands there without its answer. A page is counted in items and not
// in messages of a model, for the parts of a call must not be torn apart.
//
// A task that was handed over is woven into the chat in front of its call's end: the
// Emacs client lets go of it there, and drops what comes later.
//
// A shutdown is answered when everything is stored, and what runs has ended, for the
// Emacs client kills the process with the answer in its hands.
//
// A model or an agent that nobody offers is not refused, for clients send what
// they remember from another server: the agent falls back to the default one, and
// whether there is such a model shows when it is asked; until then the prompt is not
// answered, for today's answer says if it failed. But
// "plan", the agent that must not change anything, is never widened: where the
// configuration has none of that name, the default one runs with approvals that
// let it only read.
package eca
