// Package limits keeps what turns spend within the limits of their user.
//
// A limit is an amount of a unit (US dollars, tokens) in a scope (turn, session, day). Every limit is
// kept by the same table, for the built-in loop and for agents behind the gateway.
//
// # What holds
//
//   - Before a request to a model its least expense is held in every scope, and replaced by the real
//     one behind it. So a turn exceeds a limit by at most one answer of each agent that works for it.
//   - At a limit the turn pauses and asks a person (core.Turn.AskToContinue), who may let it go
//     on by as much again. All agents of a turn wait for the one answer. Nobody else can answer. Where nobody can be
//     asked the turn ends with the reason.
//   - A task counts for the turn and the session that delegated it, and so do the summaries of both.
//   - A session's expense is in its log (core.State.Spent), so a rest, a restart and a
//     rollback change nothing about it. A fork begins with what the copied part has cost, and
//     without what was agreed to in the original.
//   - The day is the local one at the beginning of a request, for all processes with the data folder. A
//     process that dies leaves what its requests held.
//   - A ledger that cannot be read or written ends the turn: nothing is spent that is not counted.
//   - Where the price of a model or the figures of an agent are unknown, a limit cannot be kept. A person is
//     asked once in a session whether it goes on without, unless the user's configuration allows it.
//   - An agent behind the gateway is stopped at a limit, and its next turn begins with the question.
//   - Without a limit nothing is done, and without one for the day no file is written, but for
//     what was learned about the figures of agents.
//
// # Locks
//
// Meter.mu is a leaf. It is never held while the ledger is read or a person is asked. Of the agents of
// a turn that are at a limit, one at a time has the account's token while it asks.
package limits
