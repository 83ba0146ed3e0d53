// Package core is the agent gateway without a protocol: sessions, turns, tool
// calls, approvals and the events that record them. It imports nothing but the
// standard library, and knows neither a dialect, nor a model, nor a disk, nor the form
// in which events are stored (package codec has that).
//
// # Glossary
//
// One term for each concept, in the code, the comments and the texts that users read.
//
//	session       a conversation and everything that happened in it: its log ([Session])
//	event         one thing that happened in a session; never changes ([Event])
//	log           the events of a session, in order; a stored log is a [Journal]
//	record        an event with its number in the log, from 1 without gaps ([Record], [Missing])
//	delta         a piece of a text that is still growing: an answer, a thought, a call's output
//	run           successive deltas of one text, merged into one record of up to 64 KiB
//	position      a record's number and an offset into its run; valid for ever ([Pos])
//	owner         the one process that may write a session; it holds the session's claim
//	epoch         the number of a claim; records of an earlier owner are ignored after it
//	rest          what an idle session does: it keeps neither claim, descriptor nor memory
//	client        an editor, program or person that uses a session ([Client], [Attachment])
//	principal     the account on whose behalf a client acts; a session belongs to one
//	caller        a program that prompts on behalf of its own user ([Caller]); empty: a person
//	reader        follows a session's log from a position ([Reader])
//	prompt        a message of the user that starts a turn, or that is queued ([Prompt])
//	steering      a message of the user to the turn that is running
//	turn          the work of an agent on a prompt, from TurnStarted to TurnEnded ([Turn])
//	back end      runs the turns of an agent: the built-in loop or a program ([Backend])
//	conversation  the back end's side of one session ([Conversation])
//	agent         a back end under a name that users can choose ([Agent])
//	model         a language model, named PROVIDER/MODEL ([Model]; see package inference)
//	tool          a function that agents can call; a [Toolbox] opens a [Toolset] for a session
//	tool call     one use of a tool, with the states of call.go ([Call]; "call" for short)
//	approval      a person's decision about a tool call
//	consent       a person's decision about anything else, such as starting a server
//	question      a request for an answer from a person; like the two above, an [Ask]
//	policy        decides by rules which tool calls need an approval ([Policy])
//	profile       the effective configuration of a workspace: agents, models, tools, policy
//	workspace     the folders of a session, its roots
//	content block a piece of a prompt, an answer or a result: text, image, link … ([Block])
//	reference     a file or page that a user attached to a prompt by name ([Reference])
//	task          work that an agent delegates to another one, in a sub-session (package delegate)
//	job           a command that runs in the background of a session (package board)
//	board         the current state of things outside of sessions' logs (package board)
//	editor        a client that provides files and terminals ([Editor]; see package ide)
//	capability    something that a client, back end or server can do, and has announced
//
// # What holds
//
//   - Deltas concatenate: whoever renders [a, b] shows what [a+b] would show.
//   - A reader gets every record once and in order, from whatever mixture of
//     memory and store; what a Truncated hides is skipped by readers that have not
//     seen it, and the others get the Truncated.
//   - A record other than a delta reaches a reader only after the store has
//     written it, so nothing that a client saw is lost when the process dies. Text
//     is delivered at once, and written after 25 ms, or later on a busy machine.
//   - A prompt is durable before its turn is acknowledged and before a model is
//     asked; a call's Running record, with the decision in it, is durable before
//     the call has its effect.
//   - Nothing runs without [Turn.Invoke] or Host.Authorize, and nothing is allowed
//     there without a rule or a person: where nobody can be asked the answer is no,
//     and the call's Why says so. A loop's search of its own list of tools is shown as
//     a call and runs nothing.
//   - What an agent cannot do (go back, go on from a copy, take images, audio or embedded
//     resources) is refused here, by an UnsupportedError, before anything is written.
//   - A prompt that begins with a slash is carried out before any back end is asked
//     (Profile.Command): commands work whatever the agent is, and where it cannot start.
//   - A call is judged by the policy that holds when it begins, also when a person is asked
//     and answers later. A rule that is written while a turn runs counts from its next call on.
//   - A turn runs with the [Profiles] of the connection whose client prompted it: its agents,
//     models, rules and consents, and the MCP servers that its clients bring along, also after
//     that client has left. What another connection says while the turn runs becomes a turn of
//     its own (BusySteer), so nobody's words run under the rules of others. A task has the
//     profiles of the turn that delegated it, and what happens between turns those of the last
//     one. Toolsets of toolboxes that both profiles have stay open from one turn to the next.
//   - A session belongs to a [Principal], which whoever serves a connection names. Nobody else
//     opens, lists or deletes it.
//   - A question of a sub-session is put to its parent's user too, and settled once,
//     wherever it is answered first. The sub-session's turn ends with the call that started
//     it. It may do no more than that call's turn, and no more than the agent that
//     delegated the task (Meta.ParentAgent).
//   - An answer for the whole session counts only for its giver: a person's in turns that a
//     person prompted (Origin.Personal), a program's in turns of the same Caller. What a
//     person rejects is rejected in every turn. What a person allows in a program's turn
//     also counts in that program's later turns.
//   - A question is answered by a person or not at all. Where no client has a form for
//     it, it is shown in the chat: it ends its turn and the next message answers it
//     (Ask.Later), or it stays unanswered.
//   - The answer to a Secret question is never in a log.
//   - A turn ends in a fixed order: the model has stopped, every call has ended,
//     what was asked is withdrawn, TurnEnded. The turn of a process that died is
//     closed as interrupted by the next owner of its session, or only in memory where the
//     log is read-only, so no turn is shown as running for ever.
//   - A failure of the store ends the turn before its next effect. That session
//     takes no more prompts until it is opened again; the others go on.
//   - A publisher never waits for one client: only when the fastest attached
//     reader is more than 1 MiB behind does a turn wait, until one catches up,
//     leaves, or has taken nothing for a minute.
//
// # Locks and goroutines
//
// One lock for each session (Session.mu), a leaf: it is never held across the
// store, a back end, a tool, a policy, a channel that could block, or another
// lock. Functions that need it end in Locked. The gateway
// has one leaf lock as well. A session owns its goroutines in one WaitGroup:
// the one that runs turns lives while there are any, the flusher while something
// is unwritten or unsynced. A session that is idle has none, and one timer at most.
//
// # Back ends
//
// Whoever makes profiles makes back ends: one for each revision of what an agent is made of,
// and the same one in every profile that offers this revision ([Agent]). Profiles of several
// workspaces and connections are in use at once. The gateway alone opens, counts and closes:
// a back end is in use while a session has a conversation with it, or asks what it can do.
// It is closed once, by a goroutine of the gateway, when it is in use no more and was retired
// (Gateway.Retire, which whoever makes profiles calls when none of them offers the revision
// any more, or the gateway's end). So a turn keeps the revision that it began with, and the
// session's next turn opens a conversation with the new one, which is handed what the old one
// has published as Bound. Gateway.Close waits for every back end that it closes.
//
// # Idle sessions
//
// A session that nobody uses for a minute is closed if no client is attached, and else
// rests. It is closed at once when its last client leaves for good (Attachment.Leave). A
// session that rests has no claim, so another process can continue it. It has no descriptor
// and no conversation, and keeps nothing of its log in memory. Its next command claims it
// again and reads what others have added before it does its work: every reader continues
// from its own position, in order. A turn, a queued prompt, a question, a job, or anything
// that is not stored yet keeps a session awake.
//
// The toolsets of a session that rests stay open, and with them its MCP servers: what a
// server knows (a browser its open pages) could not be restored. A conversation whose back
// end owns its history stays open too.
//
// # Sessions of other processes
//
// A session that is not ours is watched (Journal.Watch) while a reader waits for it, which is as
// long as a client is attached that has read everything, also at rest. What another process adds
// is read at once, within 300 ms with a store in files. A turn whose owner dies is closed: the
// session is claimed for that, unless somebody else does it first, and given back after 3 s. A
// session that has an owner is never taken from it.
//
// There may be many such sessions, and most have no owner. A store looks one by one only at those
// that have one at the moment, and at one place for all others. Nothing is watched that is ours, or
// that nobody reads.
//
// # Why
//
// The log is the session, instead of one of several copies of it, so that loading,
// reconnecting, a second client, crash recovery and the tests are one thing: render
// this log. The events have the shape that the agent protocols are moving towards
// (messages and calls by id, turns that outlive the request that began them), not
// that of one protocol: a schema that still moves would end up on users' disks.
//
// A position is (record, offset) because a number for every delta breaks as soon
// as deltas are merged, in memory, on disk, or for a slow reader: a live cursor
// then stands inside a record that no longer exists.
//
// Readers pull. With brokers and channels a slow client either holds up the others
// or loses events, and order between topics is lost; here the log is the queue, and
// every reader has its own place in it.
//
// Questions are derived from what waits (Attachment.Pending), never from the
// stream: a replayed question is not asked again, and one that somebody else has
// answered is withdrawn.
//
// Atomic records wait for write(2), which costs microseconds, and not for the
// disk. Text does not wait, because users watch it, and losing a moment of it
// breaks no promise.
//
// A change of a file is taken back from the log: the call's diff holds the text from
// before, and says what the file must still be. So there are no copies to keep, to
// clean up or to find missing, and what somebody has changed since is left alone.
//
// What was said stays in the log for ever. A summary (Compacted) and what a refused
// turn said are left out of what a model sees, not of what people see.
//
// A sub-session is a session like any other, so its log, its approvals and its crashes are
// handled as everywhere. Its questions travel as data (Ask.About): a
// client that knows no sub-sessions shows them as the parent's.
//
// The context of a prompt belongs to its turn. A cancel that is read behind its
// prompt ends that context on the reading goroutine, whatever the prompt waits for
// by then: the disk, a claim, the turns before it. So no cancel can be too early,
// and none hits a turn that it was not meant for.
package core
