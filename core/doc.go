// Package core is the agent gateway without a protocol: sessions, turns, tool calls, approvals and
// the events that record them. It imports nothing but the standard library and its own inner parts,
// and knows neither a protocol, nor a model, nor a disk, nor the form in which events are stored
// (see package codec).
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
//	owner         the one process that may write a session; it holds the session's claim ([Owner])
//	peer          the owner of a session, whichever process that is ([Peer]; package share)
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
//	brief         what was said, for an agent that did not hear it ([Briefed]; package brief)
//	model         a language model, named PROVIDER/MODEL (package inference)
//	tool          a function that agents can call; a [Toolbox] opens a [Toolset] for a session
//	tool call     one use of a tool, with the states of call.go ([Call]; "call" for short)
//	approval      a person's decision about a tool call
//	consent       a person's decision about anything else, such as starting a server
//	question      a request for an answer from a person; like the two above, an [Ask]
//	policy        decides by rules which tool calls need an approval ([Policy])
//	profile       the effective configuration of a workspace: agents, models, tools, policy
//	workspace     the folders of a session, its roots
//	content block a piece of a prompt, an answer or a result: text, image, link … ([Block])
//	reference     a file or page that a user attached to a prompt by name (package workspace)
//	context       what a client keeps in view beside its messages ([Context])
//	task          work that an agent delegates to another one, in a sub-session (package delegate)
//	job           a command that runs in the background of a session (package board)
//	sandbox       what bounds the programs of a session (package sandbox); package egress is its way out
//	board         the current state of things outside of sessions' logs (package board)
//	texts         what a session knows about the texts of files, by digests ([Texts])
//	editor        a client that provides files and terminals ([Editor]; see package ide)
//	capability    something that a client, back end or server can do, and has announced
//
// # What holds
//
//   - Deltas concatenate: [a, b] is rendered like [a+b].
//   - A reader gets every record once and in order, from memory or from the store. Readers skip the
//     records that a Truncated hides, unless they have seen them; those get the Truncated.
//   - A record other than a delta reaches a reader only after the store has written it, so nothing
//     that a client has seen is lost when the process dies. Text is delivered at once, and written
//     after 25 ms, or later on a busy machine.
//   - A prompt is durable before its turn is acknowledged and before a model or a server is
//     asked; the turn reads the files that it goes by meanwhile. A call's Running record, with
//     the decision in it, is durable before the call has its effect.
//   - Nothing runs without [Turn.Invoke] or Host.Authorize, and nothing is allowed there without a
//     rule or a person: if no person can be asked the answer is no, and the call's Why gives the
//     reason. A loop's search of its own list of tools is shown as a call and runs nothing.
//   - A request that an agent does not support (going back, forking, images, audio or embedded
//     resources) is refused here, by an UnsupportedError, before anything is written.
//   - A prompt that begins with a slash is carried out before any back end is asked
//     (Profile.Command): commands work with every agent, even one that cannot start.
//   - Tools that are added while a turn runs, by a server that started meanwhile, are in its next
//     list.
//   - A call is judged by the policy at its beginning, even if a person is asked and answers later.
//     A new rule applies from the turn's next call on.
//   - A turn runs with the [Profiles] of the connection whose client prompted it: its agents,
//     models, rules and consents, and the MCP servers that its clients bring along, even after that
//     client has left. A message of another connection while the turn runs becomes a turn of its
//     own (BusySteer), so no message runs under the rules of another connection. A task has the
//     profiles of the turn that delegated it; between turns those of the last turn apply. Toolsets
//     of toolboxes that both profiles have stay open from one turn to the next.
//   - A session belongs to a [Principal], which the server of a connection sets. Other principals
//     cannot open, list or delete it.
//   - An approval is settled by the first decision of a client. A client that gives none is asked no
//     more; when no other can be asked, or at the deadline, it is rejected.
//   - A question of a sub-session is also put to its parent's user, and settled once, by the first
//     answer. The sub-session's turn ends with the call that started it. It has no more rights than
//     that call's turn, and no more than the agent that delegated the task (Meta.ParentAgent).
//     Trust that its parent gets or loses, and answers for the whole session there, count in it from
//     its next call on.
//   - An answer for the whole session counts only for its giver: a person's in turns that a person
//     prompted (Origin.Personal), a program's in turns of the same Caller. A person's rejection
//     counts in every turn. A person's approval in a program's turn also counts in that program's
//     later turns.
//   - Only a person answers a question. If no client has a form for it, it is shown in the chat: it
//     ends its turn and the next message answers it (Ask.Later), or it stays unanswered.
//   - The answer to a Secret question is never in a log.
//   - A turn that has come to a limit of its user (Limits) pauses, and goes on only if a person says so
//     (Turn.AskToContinue): no rule, trust, earlier answer or program does. Else it ends with
//     StopLimit and the reason. What was spent stays spent, also after a Truncated (State.Spent).
//   - A turn ends in a fixed order: the model has stopped, every call has ended, open asks are
//     withdrawn, TurnEnded. The next owner of the session closes the turn of a dead process as
//     interrupted, or only in memory if the log is read-only, so no turn is shown as running for
//     ever.
//   - A failure of the store ends the turn before its next effect. That session accepts no more
//     prompts until it is opened again; other sessions continue.
//   - A publisher never waits for one client: only when the fastest attached reader is more than 1
//     MiB behind does a turn wait, until one catches up, leaves, or has taken nothing for a minute.
//
// # Locks and goroutines
//
// One lock for each session (Session.mu), a leaf: it is never held across the store, a back end, a
// tool, a policy, a channel that could block, or another lock. Functions that need it end in
// Locked. The gateway has one leaf lock as well. A session owns its goroutines in one WaitGroup:
// the one that runs turns lives while there are any, the flusher while something is unwritten or
// unsynced. A session that is idle has none, and one timer at most.
//
// # Back ends
//
// The maker of profiles also makes back ends: one for each revision of an agent's settings, and the
// same one in every profile with this revision ([Agent]). Profiles of several workspaces and
// connections are in use at once. Only the gateway opens, counts and closes back ends: one is in
// use while a session has a conversation with it, or asks for its capabilities. A goroutine of the
// gateway closes it, once, when it is no longer in use and was retired: by Gateway.Retire, which
// the maker of profiles calls when no profile has the revision any more, or by the gateway's end.
// So a turn keeps its revision, and the session's next turn opens a conversation with the new one,
// which gets the last Bound of the old one. Gateway.Close waits for every back end that it closes.
//
// A session has a side with each agent that keeps its own history (Bound). The log notes up to where an
// agent has heard it when another one answers. An agent that is chosen again continues its side, with the
// options that were chosen for it, and is told what was said since (Briefed), after a notice.
//
// # Idle sessions
//
// A session that is unused for a minute is closed if no client is attached; otherwise it rests. It
// is closed at once when its last client leaves permanently (Attachment.Leave). A resting session
// has no claim, so another process can continue it. It has no descriptor and no conversation, and
// keeps nothing of its log in memory. Its next command claims it again and first reads the
// additions of others: every reader continues from its own position, in order. A turn, a queued
// prompt, a question, a job, or data that is not stored yet keeps a session awake.
//
// The toolsets of a resting session stay open, and with them its MCP servers: their state (a
// browser's open pages) could not be restored. A conversation whose back end owns its history stays
// open too.
//
// # Sessions of other processes
//
// A session that is not ours is watched (Journal.Watch) while a reader waits for it: as long as a
// client is attached that has read everything, also at rest. Additions of another process are read
// within 300 ms if the store is in files, and as soon as they are written where the processes share
// the session (Sharing). A turn whose owner dies is closed: the session is claimed for that, unless
// another process does it first, and given back after 3 s. A living owner never loses its session.
//
// With a Sharing, the commands of a session's clients are carried out by its owner, in whichever
// process that is. A client of another process is attached there like any other, with its editor, its
// servers and its profiles. When an owner ends, prompts that were queued stay queued for the next one,
// if clients of that process were attached meanwhile: a session that is opened later begins with none.
// An approved call runs after the clients have been shown that the approval is settled, or 200 ms later.
//
// Files, terminals and other services of an editor come from the client that prompted. When it has
// left, another client of the same principal serves the paths in its folders; else nobody does. The
// MCP servers that a client brings along serve the turns of its own connection.
//
// # Why
//
// The log is the session, not one of several copies of it, so that loading, reconnecting, a second
// client, crash recovery and the tests are the same operation: render this log. The events have the
// shape that the agent protocols move towards (messages and calls by id, turns that outlive their
// request), not that of one protocol: a schema that still moves would end up on users' disks.
//
// A position is (record, offset) because a number for every delta breaks as soon as deltas are
// merged, in memory, on disk, or for a slow reader: a live cursor would then be inside a record
// that no longer exists.
//
// Readers pull. With brokers and channels a slow client either holds up the others or loses events,
// and order between topics is lost; here the log is the queue, and every reader has its own place
// in it.
//
// Questions are derived from the open asks (Attachment.Pending), never from the stream: a replayed
// question is not asked again, and one that another client has answered is withdrawn.
//
// Atomic records wait for write(2), which costs microseconds, and not for the disk. Text does not
// wait, because users watch it, and losing a moment of it breaks no promise.
//
// Messages stay in the log for ever. The texts before a summary (Compacted) and those of a refused
// turn are hidden from the model, not from people.
//
// A sub-session is a session like any other, so its log, its approvals and its crashes are handled
// like others. Its questions travel as data (Ask.About): a client that does not know sub-sessions
// shows them as the parent's.
//
// The context of a prompt belongs to its turn. A cancel that is read after its prompt ends that
// context on the reading goroutine, whatever the prompt is waiting for: the disk, a claim, the
// turns before it. So no cancel is too early, and none stops another turn.
package core
