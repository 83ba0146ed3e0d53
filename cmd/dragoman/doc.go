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
// servers; doctor looks for what keeps the program from working; sessions looks after the
// sessions that are kept; export writes them into files; setup makes profiles;
// keys takes keys of providers from a person. serve puts the gateway together and lets adapters,
// or the terminal, serve it.
//
// Here: app.go runs the command line, which root.go describes; each command has a file of its
// own, which reads its flags and makes one call.
//
// # What always holds
//
//   - Standard output belongs to the protocol: only what a command is asked for is
//     written there. The log goes to standard error or a file.
//   - Nothing is read, opened or resolved before somebody needs it. The
//     configuration is read at the first session or prompt, the data folder is
//     made with the first session, a key is looked up with each request.
//   - Keys of the environment, and those that were given, are used by the commands
//     that talk to a model for a person: eca, acp, mcp and chat. The demo runs in a
//     clean environment.
package main
