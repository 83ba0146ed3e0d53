// Package setup makes the profiles that a gateway runs with out of the configuration.
//
// # What is where
//
// A [Process] (process.go) holds what all connections share, a [Client] (client.go) what is one
// connection's: the editor's options and the consent to them (editor_options.go), where providers
// are reached (routes.go), who writes the prompts, and who lends a model. Together they make an
// edition (edition.go), which makes profiles, and anew when a file has changed. agents.go,
// backends.go, policies.go and toolbox.go are its parts: agents, their back ends, the policy that
// holds for them, and the MCP servers that run. guides.go reads what workspaces say. servers.go is
// what a client may change in the configuration, accounts.go shows keys, and commands.go gives
// core/commands what only the program can do.
//
// # What holds
//
//   - A connection sees nothing of what another one lays over the configuration: no model, agent,
//     rule, disabled tool, consent, MCP server or account, neither in profiles nor on the board
//     (Client.Board). Connections with equal overlays share an edition, so that nothing is made
//     twice; one that changes its overlay alone keeps the edition, with all that runs.
//   - A turn has the profile of the connection that prompted it, in sessions that several have
//     open as well: its rules deny and ask, and a consent that another connection was given
//     counts for nothing there. What people have answered for a session belongs to the session.
//   - MCP servers of the user's files run once for all connections. Editions whose editors add
//     servers have their own.
//   - A provider's limits are one for the process, whoever asks it.
//   - A back end is made once for each revision of what its agent is made of (backends.go), and
//     is in every profile of the edition until none has it. Then it is retired; the gateway
//     closes it (core, Back ends). It refers to no configuration that is read anew.
//   - A lasting consent is its principal's.
//   - Locks are taken in this order: Client.mu, Process.mu, edition.mu. Nothing is read, started
//     or ended with one of them.
//   - Nothing is read, opened or resolved before somebody needs it. The configuration is read
//     at the first session or prompt, a key is looked up with each request.
//   - A prompt begins with one look at the files of the configuration and of the guide, a call
//     of a tool with one at the configuration's. What runs then uses what that look found
//     (edition.Last, guides.last) and does not look again. So a rule that is written while a
//     turn runs counts from its next call on, and a text of the guide from the next prompt on.
//     Requests of clients that list or choose something look too.
//   - Watch only tells clients of a change; no decision waits for it.
//   - A configuration that is wrong does not keep the program from answering: each protocol
//     says it in its own words, and mending the file is enough. When one becomes wrong that is
//     said once, and the one before stays in use.
//   - An agent has at most the rights that the policy gives. One that the workspace proposes
//     asks for all that has an effect, and takes no name that is there already.
//   - What a model writes is never a command: in the session of a task a slash is text. Where
//     other agents prompt, a command writes only what a rule allows.
//   - Settings of an editor that allow more than the user's own wait until the user agrees.
package setup
