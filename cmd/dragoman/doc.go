// Command dragoman assembles the program: it reads the command line, builds the gateway from the
// configuration and lets one adapter serve it, or helps a person to inspect its state.
//
// # Packages
//
// Below cmd/internal: program holds the input of one run of the program, and its exit codes;
// terminal talks to a person at a terminal; demo plays the protocols; secrets stores keys and
// logins, servers edits the MCP servers of the configuration, agents looks at its external agents,
// models finds its language models;
// imports reads the settings of other programs; logs writes the program's own log and those of
// MCP servers; doctor looks for problems that keep the program from working; sessions lists,
// copies, archives, repairs and removes stored sessions; retention does so with those that nobody uses;
// export writes them as text into files of a workspace; translate shows what protocols
// carry, and sessions as their messages; setup makes profiles; keys
// reads keys of providers from a person. serve builds the gateway and lets adapters, or the
// terminal, serve it.
//
// Here: app.go runs the command line, which root.go describes; each command has a file of its
// own, which reads its flags and makes one call.
//
// # What always holds
//
//   - Standard output belongs to the protocol: only the requested output of a command is written
//     there. The log goes to standard error or a file.
//   - Nothing is read, opened or resolved before it is needed. The configuration is read at the
//     first session or prompt, the data folder is created with the first session, a key is looked
//     up with each request.
//   - Keys of the environment, and stored ones, are used by the commands that talk to a model for
//     a person: eca, acp, mcp, chat, attach and run. The demo runs in a clean environment.
//
// # Limits
//
// Nothing that a client, a model, a server or time can multiply grows without a limit, in any
// package of the program. Each row names its test.
//
//	resource                                owner            limit                           what ends it                    test
//	open sessions                           Gateway          any number                      a minute without clients        core.TestIdle
//	memory of a session at rest             Session          16 KiB                          the session closes              cmd/internal/serve.TestSessionsLeftOpenCostLittle
//	claim and descriptors of a session      Session          2; at rest 0                    a minute without use            cmd/internal/serve.TestSessionsLeftOpenCostLittle
//	log of a session in memory              Session          256 KiB; at rest 0              storing it; rest                core.TestLogInMemoryIsBounded
//	goroutines of a session                 Session          turn, flusher; at rest 0        the end of their work           cmd/internal/serve.TestSessionsLeftOpenCostLittle
//	conversation of a session               Session          1; at rest 0                    rest                            core.TestWhatKeepsASessionAwake
//	back ends of changed agents             Gateway          those that turns still use      the end of these turns          core.TestARetiredBackEndIsClosedBehindItsLastTurn
//	unread part of a log                    Session          1 MiB                           the turn waits                  core.TestFarBehind
//	waiting prompts                         Session          1,024                           the next is refused             core.TestPromptsThatWaitAreBounded
//	prompt on standard input                run              1 MiB                           it is refused                   cmd/dragoman.TestRunChecksTheCommandLineFirst
//	prompts for the turn that runs          the turn         1,024                           the next is refused             core.TestPromptsForTheTurnAreBounded
//	remembered keys of prompts              State            256                             the oldest                      core.TestPromptsThatWaitAreBounded
//	model requests of a turn                loop             limits.max_turn_requests (200)  the turn ends                   core/loop.TestTooManyRequests
//	expense of a turn                       Meter            limits.cost, limits.tokens      the turn pauses                 core/limits.TestTurn
//	expense of a session                    Meter            limits.cost, limits.tokens      the turn pauses                 core/limits.TestSession
//	expense of a day                        Meter            limits.cost, limits.tokens      the turn pauses                 core/limits.TestDay
//	days in limits.json                     Meter            5                               the next day                    core/limits.TestDay
//	sessions with agents without figures    Meter            1,024                           all are forgotten               core/limits.TestQuietAgentsAreBounded
//	calls without effect                    loop             8 at a time for each turn       the next waits                  core/loop.TestManyCalls
//	sub-sessions                            the call         1 for each call                 the call's end                  core.TestDelegateCanceled
//	questions                               the turn         1 for each call                 policy.ask_timeout (1 h)        adapters/acp.TestAnAnswerThatNeverComes
//	readers                                 adapter          1 for each client and session   the client leaves               adapters/pump.TestReadersEndWithTheirFeeds
//	topics of the board                     Board            1,024 to 2,048 past ones        the oldest                      core/board.TestBoardForgets
//	jobs                                    toolset          32 running                      the session closes              core/tools.TestJobsAreBounded
//	output of a job                         toolset          1 MiB                           the oldest lines                core/tools.TestRing
//	ended jobs                              toolset          256                             the oldest; the session closes  core/tools.TestJobsAreBounded
//	output of ended jobs                    toolset          32; at rest on disk             the oldest; the session closes  core/tools.TestOutputOfJobsRests
//	cut output, on disk                     Store            64 MiB for each call            the session is deleted          core/tools.TestShellHugeOutput
//	handles of a workspace                  workspace        1 for each root; at rest 0      rest                            core/files.TestRest
//	versions of an editor's texts           workspace        10,000                          the session closes              core/files.TestVersionsAreBounded
//	guards                                  tools, upstream  1 for each session; at rest 0   rest; the session closes        core/child.TestGuardRests
//	connections of other processes          share            4,096; 64 that say nothing      its end; 5 s of silence         core/share.TestSilentConnections
//	clients of another process              share            256 for each connection         its end; the next is refused    core/share.TestClientsOfAProcessAreBounded
//	results of its commands                 share            1,024 for each session          the oldest                      core/share.TestResultsAreBounded
//	watches of sessions                     Store            1 goroutine, no descriptor      no reader waits                 core/jsonl.TestSessionsWithoutAnOwnerAreNotChecked
//	watch of a session                      Session          1; 0 of what is ours            its readers leave               core.TestNothingIsWatchedForNobody
//	files of crashed owners                 Store            none                            the next list                   core/jsonl.TestSweep
//	files of dead imports                   Store            none                            the next sweep                  core/jsonl.TestArrivalFails
//	file of a session, unpacked             bundle           4 GiB, or --max-mib             it is refused                   core/bundle.TestHostileFiles
//	open calls and questions of a file      bundle           64 MiB together                 it is refused                   core/bundle.TestOpenCallsAreBounded
//	looking after old sessions              serve            1 goroutine                     the program ends                cmd/internal/retention.TestDaily
//	encoded histories                       llm              64, and 64 MiB together         the least recently used         core/llm.TestPastCacheIsShared
//	requests to a provider                  llm              max_concurrent                  the next waits                  core/llm.TestGateConcurrent
//	what is known of models                 llm              256 of each provider            no more is remembered           core/llm.TestExperienceIsBounded
//	MCP servers' processes                  upstream         1 for each server and session   the session closes              bridge/upstream.TestATurnCallsAServer
//	MCP servers outside of sessions         upstream         16 unused                       the longest unused              bridge/upstream.TestConnectionsOutsideOfSessionsAreBounded
//	children of an MCP server               upstream         any number                      the server's end                core/child/piped.TestCloseEndsTheWholeGroup
//	starts of a failing server              upstream         6 in a row                      a person starts it              bridge/upstream.TestStartsAreBounded
//	questions of a server to a user         upstream         8                               the next is refused             bridge/upstream.TestQuestionsOfServersAreBounded
//	questions of a server to a client       aggregate        64                              the next is refused             bridge/aggregate.TestQuestionsOfServersAreBounded
//	a login that nobody finishes            login.Wallet     5 minutes                       its clock                       bridge/login.TestUnfinishedLoginsEnd
//	server logs and the audit               logs of cmd      1 MiB and one older file        the older file                  cmd/internal/logs.TestServerLogsAreBounded
//	open requests of a connection           wire.Conn        4,096                           the next is refused             adapters/wire.TestOpenRequestsAreBounded
//	open requests of an ACP connection      acp              1,024                           the next is refused             adapters/acp.TestOpenRequestsAreBounded
//	open requests of an MCP connection      mcp              1,024                           the next is refused             adapters/mcp.TestTooManyCalls
//	unread answers                          wire.Writer      1,000, or 4 MiB                 reading pauses                  adapters/wire.TestUnreadAnswersStopTheReading
//	bytes of a message                      wire             64 MiB                          it is refused                   adapters/wire.TestMessagesAreBounded
//	bytes of an HTTP request                Gate             8 MiB                           it is refused                   adapters/gate.TestWhoMayComeIn
//	HTTP requests and SSE streams           Gate             1,024                           the next is refused             adapters/gate.TestOpenRequests
//	MCP clients over HTTP                   mcp.HTTP         1,000; 250 of one client        the longest silent              adapters/mcp.TestClientsThatNeverSayGoodbye
//	silent MCP clients over HTTP            mcp.HTTP         15 minutes                      its clock                       adapters/mcp.TestIdleHTTPSessionsEnd
//	streams of these clients                their request    as HTTP requests                the client hangs up             adapters/mcp.TestHTTPSessionsAtWorkStay
//	events kept for clients that reconnect  mcp.HTTP         16 MiB                          the oldest; the session's end   adapters/mcp.TestReplaysAreBounded
//	sessions held by an MCP client          mcp              256                             the longest idle                adapters/mcp.TestHeldSessionsAreBounded
//	polled turns                            mcp              4 for each session              2 minutes                       adapters/mcp.TestPolledTurnsAreBounded
//	subscriptions                           mcp              1 goroutine for each session    the client leaves               adapters/mcp.TestSubscriptionsEndWithTheirClient
//	tasks                                   the log          none are kept                   the session is deleted          adapters/mcp.TestConversations
//	relayed sessions over HTTP              relay            64; 48 of one client            the longest silent; 15 minutes  bridge/relay.TestRelayedClientsThatNeverSayGoodbye
//	messages kept for the next stream       relay            1,000                           the newest are dropped          bridge/relay.TestKeptMessagesAreBounded
//	forms about calls                       relay            64 for each session             the answer; the client leaves   bridge/relay.TestDialogsAreBounded
//	calls asked about at 2026-07-28         upstream         64 for each connection          the answer; 15 minutes          bridge/upstream.TestConsentsAreBounded
//	clients of 2026-07-28 on a pipe         aggregate        16                              the longest silent              bridge/aggregate.TestSidesAreBounded
//	calls that wait for their user          aggregate        64; 64 that a rule asks about   15 minutes                      bridge/aggregate.TestParkedCallsAreBounded
//	remembered addresses; tasks             aggregate        100,000; 4,096                  they are looked for again       bridge/aggregate.TestRememberedAddressesAreBounded
//	threads of an editor                    thread           the open ones                   the client leaves               adapters/thread.TestThreadPeerThatLeaves
//	rewrites                                eca              4; 3 minutes each               the next is refused             adapters/eca.TestRewritesAreBounded
//
// Sessions on disk stay until a user deletes them, or until nobody has used them for the time that
// the configuration says (package retention). There may be any number of open sessions,
// because one at rest costs so little, not counting its list of ended jobs, its servers, and
// daemons that a command has left.
package main
