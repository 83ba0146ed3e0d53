// Package ecaserver runs turns by agents that serve the Editor Code Assistant protocol, such as the reference
// server (eca server): towards them we are the editor.
//
// # Vocabulary
//
// A [Backend] is a configured server. A peer is its running program, with the connection to it; each session
// has one of its own. A conversation is the server's side of one session, and a chat one chat of it: the
// session's own, or that of a sub-agent, whose events are in a sub-session. A content is what a server sends
// about a chat. A call is a call of a tool that the server runs itself, and details are what it shows of one. A
// config holds the choices that a server offers. A mark is the id by which the server goes back to a message.
//
// Files: backend.go, peer.go (the program and its messages), conversation.go, session.go (opens chats), turn.go
// (prompts, and how they end), prompt.go (what is sent), chat.go and decode.go (contents to events), calls.go,
// details.go (changes, commands, the plan), subagent.go, questions.go, editor.go (requests about the editor),
// choices.go (models, agents, variants), tools.go (the session's tools for the server), jobs.go, signin.go,
// listing.go, import.go, try.go. The turn that events belong to is found by bridge/agent/stage.
//
// # What holds
//
//   - Contents reach the log in the order in which the server sent them, and before the end of their turn. What a
//     server says after that is in a turn that nobody prompted.
//   - A turn ends when the server has answered the prompt and said that it is finished, or idle and no more. A
//     sign of the turn before is not taken for one.
//   - A call that waits for an approval is put to our rules, and then to a person; what it does is judged by its
//     arguments and details. Trust is switched off in each prompt, and an answer is remembered here alone, so
//     the server asks each time. What it runs without asking is only shown: nothing here keeps a server from that.
//   - A content that core has no event for is kept as it is (core.Foreign), up to 1 MiB.
//   - Contents of a chat that we do not know are dropped.
//   - A server that has lost a chat, or that cannot go back in it, gets a new chat and a brief.
//   - A program ends with its session, and with everything that it has started, also when we are killed. The
//     next owner of the session starts one only when the old one is gone (launch.SessionLock).
//   - What is the same for all kinds of agents (environment, sandbox, pool, delays, judging) is in the packages
//     of bridge/agent.
//   - What a server does not tell, or tells in another way, is listed in package losses. Besides: a history that is
//     imported has the calls of sub-agents without their sessions; a message to a turn that the model did not get
//     is prompted; a server is prompted one turn at a time; and the call that changes a plan is not shown beside it.
package ecaserver
