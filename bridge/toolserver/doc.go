// Package toolserver offers the tools of sessions to the agents that run them, as MCP servers.
//
// # Vocabulary
//
// A [Pool] has the one listener of the process, on a loopback address. A [Session] is the server of
// one session, and a [Serving] gives it to the programs that run the session, one after another: its
// tools are those of the session's MCP servers, and those of our own that need an editor; an agent
// has its own for everything else. A [Turn] is the turn that runs; calls are made through it, so
// that consent, policy, pins and log hold for them. A connection is one client of the agent's: an
// agent may have several, such as one for each of its own agents.
//
// An agent reaches its server over HTTP ([Session.HTTP]), or by a program of ours that it starts and
// speaks to over standard input and output ([Session.Stdio]); the program copies messages in both
// directions ([Relay]). Both are given a token, in a header or in the environment.
//
// # What holds
//
//   - A token opens the server of one session, until that is closed. Every other request gets 401,
//     whether or not its path exists.
//   - The agent gets names, descriptions and results. It gets no address, header or variable of a
//     server.
//   - A name keeps its meaning as long as the session's server lives. With the prefixes that agents
//     put before it, it fits into 64 bytes.
//   - Results of MCP servers are passed on as they were written ([core.Result.Raw]).
//   - A call ends when the agent cancels it, or with its connection or the turn, whichever comes
//     first. A client that only hangs up cancels its call at 2026-07-28; before, it can come back for
//     the answer. The function that Session.Begin returns waits for all calls of the turn.
//   - A client that wants progress gets a sign of life every 10 seconds: a person may take longer to
//     decide than clients wait for an answer.
//   - Without a turn the last list is answered, and calls fail with the reason.
//
// Every mutex is a leaf. Pool.Close and Session.Close return after everything that they have
// started has ended.
//
// # Why
//
// It is no aggregate of servers: the session has its connections to the servers already, with the
// user's consent, pins and jobs, and calls belong into its log. What is left is a list and a call.
//
// The turn says when its list has changed only if it is asked. It is asked at its beginning, when
// servers that were starting have started, when the agent lists, and before and after each call,
// because a call is what changes a server's tools most often.
package toolserver
