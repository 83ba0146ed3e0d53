// Command dragoman puts the program together: it reads the command line, builds
// the gateway from the configuration and lets one adapter serve it, or helps a
// person to see what is there.
//
// # What is where
//
// Below cmd/internal: program is what one run of the program is given, and its exit codes;
// terminal talks to a person at a terminal; demo plays the protocols; secrets keeps keys and
// logins, servers the MCP servers of the configuration, models finds its language models; imports
// reads what other programs' settings say; logs writes the program's own log and those of MCP
// servers.
//
// Here: app.go runs the command line, which root.go describes; each command has a file of its
// own. run.go puts the gateway together and takes it apart again. profile.go makes profiles of
// the configuration, and anew when a file has changed; agents.go and rights.go are its parts:
// agents, and the policy that holds for them. guides.go reads what workspaces say, commands.go
// and export.go give core/commands what only the program can do. toolbox.go holds the MCP servers
// that run.
//
// # What always holds
//
//   - Standard output belongs to the protocol: only what a command is asked for is
//     written there. The log goes to standard error or a file.
//   - Nothing is read, opened or resolved before somebody needs it. The
//     configuration is read at the first session or prompt, the data folder is
//     made with the first session, a key is looked up with each request.
//   - A configuration that is wrong does not keep the program from answering: each
//     protocol says it in its own words, and mending the file is enough. One that
//     becomes wrong is told once, and the one before goes on.
//   - An agent has at most the rights that the policy gives. One that only looks
//     hands tasks only to others that only look; one that the workspace proposes
//     asks for all that has an effect, and takes no name that is there already.
//   - A key or login that was given stands in one file, for its owner's eyes, and
//     encrypted where a keyring works; no message, log or list shows it, and no agent's
//     call reads the file. Which there are is seen without the keyring; it is asked by a
//     child that is killed when it does not answer.
//   - What a model writes is never a command: in the session of a task a slash is
//     text. Where other agents prompt, a command writes only what a rule allows.
//   - Keys of the environment, and those that were given, are used by the commands
//     that talk to a model for a person: eca, acp, mcp and chat. The demo runs in a
//     clean environment.
//   - The end comes in order: adapters, sessions (five seconds), the log (a quarter
//     of a second, since nobody may be reading it). A second signal ends the
//     process at once.
package main
