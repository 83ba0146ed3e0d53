// Package eca serves the Editor Code Assistant protocol, the server's side: JSON-RPC with
// Content-Length headers.
//
// A [Server] is one connection. Its handlers run on the reading goroutine and never wait; work
// that may wait is put into the queue of its chat. One pump reads the sessions' logs, and
// encode.go turns a record into notifications, as a pure function of a [View] and the record.
//
// # Vocabulary
//
// Clients call a session a chat, and choose its id. The protocol has three documents. This
// package implements the current one; a connection with a client of an early document gets an
// edge at initialize (early.go). The offer is the set of models, agents and variants that can be
// chosen. A child is the session of a delegated task; its chat is shown within a call of its
// parent's chat. A hint is a text that is shown to the user once in the chat.
//
// Files: lifecycle.go (initialize to exit), configure.go, startup.go (messages that the client
// gets without asking), chat.go (a chat and its feed), prompt.go, steer.go, approve.go, find.go
// (search for references), sessions.go (list, open, delete, update, clear), history.go (paging),
// rewind.go (marks, rollback, fork), select.go (choices and config/updated), guest.go (agents behind
// the gateway), query.go (commands),
// accounts.go (providers), jobs.go, mcp.go and tools.go (servers and their tools), company.go (other clients), view.go,
// encode.go, calls.go, details.go and aside.go (records to notifications), task.go (the plan),
// subagent.go (delegated tasks), questions.go, near.go and editor.go (requests to the client),
// writing.go (completions and rewrites), early.go (the two early documents), params.go (params from
// clients), errors.go. Package refer resolves the references of a prompt, package compose asks
// models outside of chats, package content makes parts of contents, and package offer translates
// choices.
//
// # What always holds
//
//   - However a prompt ends, a progress "finished" follows it: clients leave
//     their loading state only then.
//   - Every notification, and every answer but those to initialize and to wrong
//     parameters, is put into the stream by the pump's goroutine, consequences
//     first: the Emacs client loses messages that follow an answer it waits for
//     in the same read.
//   - A tool call begins with toolCallPrepare, its arguments are an object, and
//     a sent part of their text is never sent again.
//   - When a call of an MCP server's tool is put to the user, invisible characters in
//     its arguments are spelled out: the title has no room for all of them.
//   - An agent behind the gateway asks with its own answers. If the three buttons of the clients say
//     the same, the call has these; if not, all answers are put as a question, and the call is
//     shown without buttons. A client without questions is not asked, and the call is rejected.
//   - A model or a level of thought of one agent that a client names for another agent is ignored:
//     clients send the last choice with each prompt. So models of an agent behind the gateway are
//     named AGENT/MODEL. What the agent itself refuses is told in the chat, and the prompt goes on.
//   - A message can be gone back to by its id, so where the agent cannot do that messages have none.
//     The Emacs client needs the ids, and shows the refusal.
//   - No agent is started because a client lists or opens chats, or passes it in its list of agents.
//   - A client hears nothing of a chat that it has not named.
//   - The offer is announced with the current selection, followed by the choices
//     of each chat: an update never undoes the user's choice.
//   - The tool "task" of the server "eca" is the plan and nothing else, and no
//     approval is asked for under that name.
//
// testdata/documents holds the shapes of all messages according to the three documents. Every
// recorded conversation is checked against the document of its client, field by field. Each
// method, field and word occurs in a conversation or on a list that gives the reason why not.
//
// An MCP server that a client adds is written into the user's own configuration and started
// without a question, even if it is a program: the client is the user's editor, which has started
// us over a pipe of its own, and the user has typed the entry. Nothing else can add a server this
// way: neither a client over a network nor a file of a workspace.
//
// # Goroutines
//
// The Server's WaitGroup owns them all: the pump, the queues, one that watches the board, one
// that watches the client's process, one that works on MCP servers in the order of the requests,
// and one for each request that waits outside of chats: a list, a search, a login, the end of a
// job, a completion, a rewrite, a shutdown. The pump itself looks up children, because the client
// must know them before their calls end. Serve returns after all of them have ended. The fields
// of a chat are divided between its queue and the pump; each field names its owner.
//
// # Why
//
// An approval is not a request to the client in this protocol: a toolCallRun that needs an
// approval is a content like any other, so it is encoded from the record. Only a replay holds it
// back until its end, and then shows the calls that still wait. The call's record comes before that of
// the request, which alone tells whether the buttons are the answers, so the content follows the
// latter.
//
// A mark (the protocol's flag) comes after an old message when a chat is shown. Contents can only
// be added at the end of a chat, so a new mark is shown there until the chat is shown again: a
// replay of a long chat would flicker. A mark has an id of its own, because clients store contents
// by their id. It contains the id of the message, and either id names both.
//
// A fork contains the content at which it was made, as the protocol's document says: the user's
// question is there without its answer. Pages count items and not messages of a model, so that
// the parts of a call stay together.
//
// A delegated task is woven into the chat before its call ends: the Emacs client lets go of the
// task there, and drops later messages.
//
// A shutdown is answered when everything is stored and nothing runs any more, because the Emacs
// client kills the process as soon as it has the answer.
//
// Modes of an agent behind the gateway are entries of the list of agents, "AGENT: MODE", after the
// agent itself: there users of the Emacs client cycle between "code" and "plan", and a variant has to
// remain the level of thought. The entry without a mode leaves it to the agent. A mode does not carry
// over to another chat, because it may allow more than is meant there.
//
// An unknown model or agent is not refused, because clients send names that they remember from
// another server. The agent falls back to the default one. A model is checked only when it is
// asked, and the prompt is not answered before, because today's answer contains the failure. But
// "plan", the agent that must not change anything, never gains rights: if the configuration has
// no agent of that name, the default one runs with approvals that only let it read.
package eca
