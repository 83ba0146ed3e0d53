// Package core is the agent gateway without a protocol: sessions, turns, tool
// calls, approvals and the events that tell of them. It imports nothing but the
// standard library, and knows neither a dialect, nor a model, nor a disk.
//
// # Vocabulary
//
// A [Session] is its log of typed [Event]s. An adapter attaches a client to it
// (an [Attachment]), sends commands, and reads the log with a [Reader]. A prompt
// begins a [Turn], which a [Backend]'s [Conversation] runs: the built-in loop, or
// an agent behind the gateway. A turn emits events and invokes tools; each tool
// run is a [Call] that moves through the states of call.go. What waits for a
// person is an [Ask]: an approval of a call, a consent to something else, or a
// question. A [Profile] is what the configuration offers: agents,
// models, toolboxes, a policy. The [Board] holds what is nobody's session.
//
// A sub-session is a session whose Parent is another one: a [Task] that an agent has
// handed over (ToolHost.Delegate). A [Reference] is something that a user attached
// to a prompt by name, a [Job] a command that runs behind a session, an [Account]
// where a provider's key stands, a [ServerAction] what a person has done with an MCP
// server.
//
// Records of a log are numbered from 1 without gaps; where a log has lost records, a
// [Missing] has their numbers. Successive deltas of one
// stream (a message's text, a thought, a call's arguments or output) are one
// record that grows, a run, until another event follows or 64 KiB are reached. A
// position ([Pos]) is therefore a number and an offset into a run, and stays valid
// for ever: merging never renumbers.
//
// # What holds
//
//   - Deltas concatenate: whoever renders [a, b] shows what [a+b] would show.
//   - A reader gets every record once and in order, from whatever mixture of
//     memory and store; what a Truncated hides is skipped by readers that have not
//     seen it, and told to those that have.
//   - A record other than a delta reaches a reader only after the store has
//     written it, so nothing that a client saw is lost when the process dies. Text
//     is delivered at once; it is to be written within 25 ms, and later where the
//     machine is busy.
//   - A prompt is durable before its turn is acknowledged and before a model is
//     asked; a call's Running record, with the decision in it, is durable before
//     the call has its effect.
//   - Nothing runs without [Turn.Invoke] or Host.Authorize, and nothing is allowed
//     there without a rule or a person: where nobody can be asked the answer is no,
//     and the call's Why says so. A loop's search of its own list of tools is shown as
//     a call and runs nothing.
//   - What a sub-session asks is asked of its parent's user too, and settled once,
//     wherever it is answered first. Its turn ends with the call that started it, and
//     what it may do is narrowed as that call's turn is, and by what the agent may do
//     that handed the task over (Meta.ParentAgent).
//   - An answer for the session counts where it was given: a person's in turns that a
//     person prompted (Origin.Personal), a program's in turns of the same Caller. A
//     person's no counts in every turn.
//   - A question is answered by a person or not at all. Where no client has a form for
//     it, it is said in the chat: it ends its turn and the next message answers it
//     (Ask.Later), or it stays without an answer.
//   - An answer to a question that is Secret is never in a log.
//   - A turn ends in a fixed order: the model has stopped, every call has ended,
//     what was asked is withdrawn, TurnEnded. The turn of a process that died is
//     closed as interrupted by the next owner of its session, and in memory alone
//     where the log can only be read: none is shown as running for ever.
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
// lock. Functions that need it end in Locked. The gateway, a Mux and the board
// have one leaf lock each as well. A session owns its goroutines in one WaitGroup:
// the one that runs turns lives while there are any, the flusher while something
// is unwritten or unsynced. A session that is idle has none, and one timer at most.
//
// # Idle sessions
//
// A session that nobody uses for a minute is given back: closed where no client is
// attached (at once when the last one says that it is done, Attachment.Leave), else it
// rests. A session that rests has no claim, so that another process can go on with
// it, no descriptor, no conversation, and nothing of its log in memory. Its next
// command claims it again, reads what others have added, and then does its work: every
// reader goes on from its own position, in order. A turn, a queued prompt, a question,
// a job, or what is not stored yet keeps a session awake.
//
// The toolsets stay open, and with them the MCP servers of the session: what a server
// has come to know (a browser its pages) nobody could give it again. So does a
// conversation whose back end owns its history.
//
// # What may be had of each thing
//
// Nothing that a client, a model, a server or time can make more of grows without end,
// here and in the packages that use this one. A test that is named here shows it.
//
//	resource                           owner            limit                       what ends it                    test
//	sessions that are open             Gateway          any number                  a minute without clients        core.TestIdle
//	a session's claim, descriptors     Session          2; at rest 0                a minute without use            cmd/dragoman.TestSessionsLeftOpenCostLittle
//	its log in memory                  Session          256 KiB; at rest 0          what is stored; rest            cmd/dragoman.TestSessionsLeftOpenCostLittle
//	its goroutines                     Session          turn, flusher; at rest 0    their work's end                cmd/dragoman.TestSessionsLeftOpenCostLittle
//	its conversation                   Session          1; at rest 0                rest                            core.TestWhatKeepsASessionAwake
//	what no client has read            Session          1 MiB                       the turn waits                  core.TestFarBehind
//	prompts that wait                  Session          1,024                       the next is refused             core.TestPromptsThatWaitAreBounded
//	keys of prompts                    State            256                         the oldest                      core.TestPromptsThatWaitAreBounded
//	requests of a turn to its model    loop             limits.max_steps (200)      the turn ends                   core/loop.TestTooManyRequests
//	sub-sessions                       the call         8 of a turn at a time       the call's end                  core.TestDelegateCanceled
//	questions                          the turn         one of each call            limits.ask_timeout (1 h)        adapters/acp.TestAnAnswerThatNeverComes
//	readers                            adapter          one of a client's session   the client leaves               adapters/pump.TestRemove
//	topics of the board                Board            1,024 to 2,048 of the past  the oldest                      core.TestBoardForgets
//	jobs                               toolset          32 run, 1 MiB of each       the session closes              core/tools.TestJobsAreBounded
//	output of jobs that have ended     toolset          32 of them                  the oldest; the session closes  core/tools.TestJobsAreBounded
//	output that was cut, on disk       Store            64 MiB of a call            the session is deleted          core/tools.TestShellHugeOutput
//	handles of a workspace             toolset          1 of a root; at rest 0      rest                            core/tools.TestRest
//	guards                             toolset, bridge  1 of a session; at rest 0   rest; the session closes        core/child.TestGuardRests
//	crashed owners' files              Store            none                        the next list                   core/jsonl.TestSweep
//	histories as they are sent         llm              64, 64 MiB in all           the one used longest ago        core/llm.TestPastsAreShared
//	requests to a provider             llm              max_concurrent              the next waits                  core/llm.TestGateConcurrent
//	MCP servers' processes             bridge           1 of a server and session   the session closes              bridge.TestCloseEndsTheWholeGroup
//	starts of a server that fails      bridge           6 in a row                  a person starts it              bridge.TestStartsAreBounded
//	logs of servers, and the audit     cmd/dragoman     1 MiB and one before        the older                       cmd/dragoman.TestServerLogsAreBounded
//	requests open on a connection      wire.Conn        4,096                       the next is refused             adapters/wire.TestOpenRequestsAreBounded
//	the same of MCP                    mcp              1,024                       the next is refused             adapters/mcp.TestTooManyCalls
//	answers that are not read          wire.Writer      1,000, or 4 MiB             the reading waits               adapters/wire.TestUnreadAnswersStopTheReading
//	bytes of a message                 wire             64 MiB                      it is refused                   adapters/wire.TestLines
//	HTTP requests, SSE streams too     Gate             1,024                       the next is refused             adapters/gate.TestOpenRequests
//	MCP clients over HTTP              mcp.HTTP         1,000; 250 of one           silent longest; 15 minutes      adapters/mcp.TestClientsThatNeverSayGoodbye
//	their streams                      their request    as requests                 the client hangs up             adapters/mcp.TestHTTPSessionsAtWorkStay
//	events for who comes back          mcp.HTTP         16 MiB                      the oldest; the session's end   adapters/mcp.TestReplaysAreBounded
//	sessions that an MCP client holds  mcp              256                         idle longest                    adapters/mcp.TestHeldSessionsAreBounded
//	turns as clients poll them         mcp              4 of a session              2 minutes                       cmd/dragoman.TestSessionsLeftOpenCostLittle
//	subscriptions                      mcp              1 goroutine of a session    the client leaves               adapters/mcp.TestSubscriptionsEndWithTheirClient
//	tasks                              the log          none is kept                the session is deleted          adapters/mcp.TestConversations
//	relayed sessions over HTTP         RelayHTTP        64; 48 of one               silent longest; 15 minutes      bridge.TestRelayedClientsThatNeverSayGoodbye
//	messages for a stream to come      RelayHTTP        1,000                       the newest                      bridge.TestKeptMessagesAreBounded
//	clients of 2026-07-28 of a pipe    Aggregate        16                          silent longest                  bridge.TestSidesAreBounded
//	threads of an editor's             acp              those that are open         the client leaves               adapters/acp.TestThreadPeerThatLeaves
//
// Sessions on disk stay until somebody deletes them. Of sessions that are open there may
// be any number, because one that rests costs 16 KiB at the most; what an ended job has
// printed, the servers of a session, and daemons that a command has left come on top. A
// login that nobody finishes ends after 5 minutes. In an aggregate 64 calls of a client
// may wait for what its user answers, each for 15 minutes.
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
// disk. Text does not wait, because it is what users watch, and losing a moment of it
// loses nothing that was promised.
//
// A change of a file is taken back from the log: the call's diff holds the text from
// before, and says what the file must still be. So there are no copies to keep, to
// clean up or to find missing, and what somebody has changed since is left alone.
//
// What was said stands in the log for ever. A summary (Compacted) and what a refused
// turn said are left out of what a model sees, not of what people see.
//
// A sub-session is a session like any other, so that its log, its approvals and its
// crash are what they are everywhere. Its questions travel as data (Ask.About): a
// client that knows no sub-sessions shows them as the parent's.
//
// The context of a prompt belongs to its turn. A cancel that is read behind its
// prompt ends that context on the reading goroutine, whatever the prompt waits for
// by then: the disk, a claim, the turns before it. So no cancel can be too early,
// and none hits a turn that it was not meant for.
package core
