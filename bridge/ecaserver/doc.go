// Package ecaserver runs turns by agents that serve the Editor Code Assistant protocol, such as the reference
// server (eca server): towards them we are the editor.
//
// # Vocabulary
//
// A [Backend] is a configured server. A peer is its running program, with the connection to it; each session
// has one of its own. A conversation is the server's side of one session, and a chat one chat of it: the
// session's own, or that of a sub-agent, whose events are in a sub-session. A content is what a server sends
// about a chat. A call is a call of a tool that the server runs itself, and details are what it shows of one. A
// config is what can be chosen. A mark is the id by which the server goes back to a message.
//
// Files: backend.go, peer.go (the program and its messages), conversation.go, session.go (opens chats), turn.go
// (prompts, and how they end), prompt.go (what is sent), chat.go and decode.go (contents to events), calls.go,
// details.go (changes, commands, the plan), subagent.go, questions.go, editor.go (requests about the editor),
// choices.go (models, agents, variants), tools.go (the session's tools for the server), jobs.go, signin.go,
// listing.go, import.go, stage.go (the turn that events go to), try.go.
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
//   - A program ends with its session, and with everything that it has started, also when we are killed.
//   - What is the same for all kinds of agents (environment, sandbox, pool, delays, judging) is in the packages
//     of bridge/agent.
//
// # What decoding cannot reconstruct
//
//   - Ids: the ids of messages, turns, thoughts and calls are each gateway's own.
//   - Opened, Claimed, Bound, SettingsChanged, Archived, Expanded: each gateway has a log of its own.
//   - TurnEnded.Stop and Err: a turn ends with "finished", whatever the reason; the reason is a text before it.
//   - Asked, Answered: a call is asked about again at the top, by its own policy and in its own words.
//   - Notice.Severity, and which of Notice, FellBack, Compacted, Reverted, Instructed, Missing it was: all are texts
//     of the system.
//   - Texts of a call that has no result yet, or that was stopped: only a result has texts, and what comes after a stop
//     belongs to no turn any more.
//   - CallOutput: a running call's output has no content; the result has all of it.
//   - Call.Kind: it is found by the names of known tools, and by details.
//   - Call.Server of a native tool: it is the agent's name.
//   - Call.Why, Start, End: nobody says who decided, or when; the top notes its own.
//   - Call.Content other than texts and changes: images follow the call, others are named in a text.
//   - Call.Output that is no JSON of an MCP server's tool, and more than one.
//   - Diff.Old and New beyond the lines that the patch has, Created, From, Sum: fileChange has a patch and counts.
//     Several changes of one call arrive as one patch under the first path.
//   - Call.Locations beyond the changed file.
//   - The call that changes the plan: clients are shown the plan alone.
//   - PlanEntry.Status of a blocked step: it is pending.
//   - Phase: the words of progress are those of known servers, or mean that it waits; Tool and After are lost.
//   - UsageChanged.Last but for tokens in and out and the cost; Total but for the session's tokens and cost.
//   - UsageChanged.Context without a breakdown: it is the tokens of the last answer, or of the session.
//   - ThoughtEnded.Sealed: data of a provider stays below.
//   - Cited: name, description and type of a link; one that is no page or file is a text.
//   - Flagged of a chat that is not being imported: a client of the top has its own marks.
//   - Steered: whether the model got a message to the turn; one that it did not get is prompted.
//   - PromptQueued: a server is prompted one turn at a time.
//   - The session of a sub-agent in an imported history: its call alone is there.
package ecaserver
