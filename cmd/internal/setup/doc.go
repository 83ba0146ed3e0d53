// Package setup makes the profiles that a gateway runs with out of the configuration.
//
// # What is where
//
// profile.go makes profiles, and anew when a file has changed. agents.go, policies.go and
// toolbox.go are its parts: agents, the policy that holds for them, and the MCP servers that
// run. guides.go reads what workspaces say. editor_options.go and routes.go are what a client
// lays over the configuration, servers.go what it may change in it. accounts.go tells clients
// of keys. commands.go gives core/commands what only the program can do.
//
// # What holds
//
//   - Nothing is read, opened or resolved before somebody needs it. The configuration is read
//     at the first session or prompt, a key is looked up with each request.
//   - A prompt begins with one look at the files of the configuration and of the guide, a call
//     of a tool with one at the configuration's. What runs then uses what that look found
//     (Profiles.Last, guides.last) and does not look again. So a rule that is written while a
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
