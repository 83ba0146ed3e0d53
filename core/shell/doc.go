// Package shell runs commands for an agent: a line in the system's shell, or a program with
// arguments.
//
// # Vocabulary
//
// A [Shell] is the program that runs command lines. A [Command] runs for the length of one call of
// Run, and an [Outcome] describes its end. [Stream] passes on what it prints, in whole characters
// ([Decoder]), while it runs.
//
// # What holds
//
//   - A command has no terminal and no input. It gets a session and a process group of its own
//     under a guard of package child. When Run returns, all processes that it started have ended,
//     except that a command that ends by itself leaves its daemons to the guard.
//   - A command that has to end is asked first and killed after its Grace.
//   - Output is text: invalid UTF-8 and NUL become U+FFFD, wherever the bytes are cut.
//   - While the receiver of the output blocks, a full pipe slows the command down. Stopping the
//     command does not depend on the receiver; Run returns when the receiver does.
//   - A command gets the part of our environment that [Env] lists, without secrets.
//   - This package decides nothing: its callers have asked policy about each command.
//
// # Goroutines
//
// Run owns those of its command: one waits for the program, and for each pipe one reads and one
// passes on. It waits for them all.
package shell
