// Package commands carries out slash commands: prompts that begin with a slash and are
// answered without the model.
//
// table.go lists the built-in commands. [Show] returns the texts of those that show something;
// [Commands] carries out the others, and finds the commands of files and MCP servers.
//
// # What holds
//
//   - A path is for the model, and so are several words of which the first is no command. A single
//     word after a slash never is: the answer says what it is called here. Nor is a mistyped command.
//   - These commands come before the agent, whatever it is. One that shows something or acts on
//     the session wins over the agent's own command of that name; one that expands to a text,
//     and /compact, gives way to it. An agent that keeps its own history also gets /compact,
//     and, until it has listed its commands, every name that is not one of ours.
//   - Text of a model is never a command: in the session of a task a slash is text.
//   - Where other agents prompt, /resume shows only sessions within their own folders, and
//     /login asks for no key.
//   - /login asks for a key as a secret, which is in no log. An agent behind the gateway is logged in to
//     in its own way, or the user is told what to run in a terminal.
//
// # Why
//
// Actions of the program itself (its diagnosis, its logins, writing a file past its policy) are
// passed in as functions, so that commands depend on sessions alone and not on the agent.
package commands
