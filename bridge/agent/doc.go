// Package agent runs turns by agents behind the gateway: programs that speak the Agent Client
// Protocol, such as Claude, Codex, Gemini and OpenCode.
//
// # Vocabulary
//
// A [Backend] is a configured agent. A peer is its running program, with the connection to it. A
// conversation is the agent's side of one session; usually each has a peer of its own. A flow turns
// the agent's updates into events. A call is a call of a tool that the agent runs itself, as far
// as it describes it; a grant is the permission that such a call was given. A work is a request of the
// agent that we carry out: to read or write a file, or to run a command. A brief is a text about what
// was said, for an agent that does not know it.
//
// What is no protocol is shared with agents that speak another one (bridge/ecaserver): package launch
// starts programs and limits those that run at once, judge finds out what a call would do, paths
// translates paths, stage finds the turn that an agent's events belong to, brief tells an agent what
// was said, replay imports what an agent repeats, signin describes ways to sign in, elsewhere keeps the
// agents' lists of sessions, and known has what is known about agents of others.
//
// # What holds
//
//   - Updates reach the log in the order in which the agent sent them, and before the end of their
//     turn. What an agent says after its answer is in a turn that nobody prompted.
//   - While every client is far behind, the agent's output is not read. A stopped turn reads on.
//   - An update for which core has no event is kept as it is (core.Foreign), up to 1 MiB. So is a
//     notification of a protocol of the agent's own about one of its sessions.
//   - A call is judged by what it does: a command line counts wherever it is written, and a change
//     to a file too. An agent describes its calls to us; our rules judge that description. Nothing
//     here keeps an agent from doing what it does not ask about.
//   - Nothing is allowed without a rule or a person. A permission is for the call that it was given
//     for, and until that ends for requests of the same path or command line. What lasts longer on
//     the agent's side is chosen only by a person who has read its label.
//   - A program is started by a prompt, by a session that is opened, and by somebody who signs in or
//     asks for its sessions, and by nothing else. After a failure the next attempt waits
//     1 s, doubling to 5 minutes: of all sessions, one alone, if the program does not start, and of
//     one session if that cannot be opened.
//   - After a sign-in sessions go on with the next prompt. A program that has refused a prompt for want
//     of one is started again for it, because the sign-in may have been made elsewhere.
//   - A program ends with its session, when it has been idle for a while if the agent can continue
//     the session later, and to make room for others. It ends with everything that it has started,
//     also when we are killed (core/child). The next owner of the session opens it only when the old
//     program is gone, and waits 5 s for that (launch.SessionLock). Left out: systems without a guard's
//     process, where the old program may live for a moment longer; there, sessions that share a program
//     and did not start it; on Windows, all of them; and what an agent has started on another machine.
//   - An agent that can neither load nor resume a session gets a new one and a brief. So does one
//     that has lost the session, or is chosen again after another agent has answered. The brief comes
//     with the first prompt of the agent's session, also after a restart.
//   - An agent gets a safe part of our environment, the variables by which it finds its own login,
//     and the configured ones. It gets no address or secret of an MCP server, unless it is
//     configured to (Options.Direct).
//
// # Locks and goroutines
//
// Every mutex is a leaf. A peer owns the goroutine that reads, and one for each request of the
// agent that waits for somebody; a backend owns its peers' goroutines, and Close waits for them.
// The flow belongs to the goroutine that reads. An update may block it, which is what holds the
// agent back; a request of the agent never does. A call about which somebody is asked belongs to
// the goroutine that asks until the agent gets the answer.
//
// # Why
//
// The connection is one of adapters/wire. The official library for Go closes a connection when
// 1,024 updates wait, and takes kinds of updates that it does not know for others.
//
// An agent's program per session, because many agents hold one session a connection, and because
// the death of one program should not end the work of others.
package agent
