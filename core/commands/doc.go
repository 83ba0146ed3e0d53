// Package commands carries out slash commands: prompts that begin with a slash and name
// something to show or to do, instead of something to say to a model.
//
// table.go lists the built-in commands. [Show] makes the texts of those that show something;
// [Commands] does the others, and finds the commands that files and MCP servers add.
//
// # What holds
//
//   - A text that names no command is for the model, such as a path. A mistyped command gets a
//     suggestion, and nothing is sent.
//   - These commands come before the agent, whatever it is. One that shows something or acts on
//     the session wins over a command of the agent's own of that name; one that stands for a
//     text, and /compact, gives way to it. An agent that keeps its own history is also given
//     /compact, and, until it has listed its commands, every name that is none of ours.
//   - What a model writes is never a command: in the session of a task a slash is text.
//   - Where other agents prompt, /resume shows only sessions within their own folders, and
//     /login asks for no key.
//   - A key that /login asks for is asked for as a secret, and is in no log.
//
// # Why
//
// What only the program itself can do (its diagnosis, its logins, writing a file past its
// policy) is handed in as functions, so that commands depend on sessions alone and not on what
// answers the other prompts.
package commands
