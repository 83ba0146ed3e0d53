// Package setup makes the profiles of a gateway from the configuration.
//
// # Files
//
// A [Process] (process.go) holds the shared state of all connections, a [Client] (client.go) that
// of one connection: the editor's options and the consent to them (editor_options.go), the
// addresses of providers (routes.go), whether people write the prompts, and the client that lends
// a model. Together they make an edition (edition.go), which makes profiles, and new ones when a
// file has changed. agents.go, backends.go, policies.go and toolbox.go are its parts: agents,
// their back ends, their policy, and the running MCP servers. guides.go reads the instructions of
// workspaces. servers.go makes the changes to the configuration that a client may ask for,
// accounts.go shows keys, and commands.go gives core/commands the functions that only the program
// has.
//
// # What holds
//
//   - A connection sees nothing of another one's overlay on the configuration: no model, agent,
//     rule, disabled tool, consent, MCP server or account, neither in profiles nor on the board
//     (Client.Board). Connections with equal overlays share an edition, so that nothing is made
//     twice; a connection that is the only one of its edition and changes its overlay keeps the
//     edition, with everything that runs.
//   - A turn has the profile of the connection that prompted it, also in sessions that several
//     connections have open: its rules deny and ask, and a consent for another connection has no
//     effect there. People's answers for a session belong to the session.
//   - MCP servers of the user's files run once for all connections. Editions whose editors add
//     servers have their own.
//   - A provider's limits hold for the whole process, for all clients together.
//   - A back end is made once for each revision of its agent (backends.go), and is in every
//     profile of the edition until none has it. Then it is retired; the gateway closes it (core,
//     Back ends). It does not refer to a configuration, because that is read again.
//   - A lasting consent belongs to its principal.
//   - Locks are taken in this order: Client.mu, Process.mu, edition.mu. Nothing is read, started
//     or ended while one of them is held.
//   - Nothing is read, opened or resolved before it is needed. The configuration is read
//     at the first session or prompt, a key is looked up with each request.
//   - A prompt begins with one look at the files of the configuration and of the guide, a call of
//     a tool with one at the configuration's. Code that runs then uses the result of that look
//     (edition.Last, guides.last) and does not look again. So a new rule applies in a running
//     turn from its next call on, and a new text of the guide from the next prompt on. Requests
//     of clients that list or choose something also look.
//   - Watch only informs clients of a change; no decision waits for it.
//   - A configuration with an error does not keep the program from answering: each protocol
//     reports the error in its own words, and correcting the file is enough. If a later change
//     contains an error, that is reported once, and the previous configuration stays in use.
//   - An agent has at most the rights that the policy gives. One that the workspace proposes
//     needs approval for every effect, and cannot take the name of an existing agent.
//   - Text of a model is never a command: in the session of a task a slash is text. If other
//     agents prompt, a command writes only files that a rule allows.
//   - Settings of an editor that allow more than the user's own wait until the user agrees.
package setup
