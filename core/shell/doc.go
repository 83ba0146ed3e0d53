// Package shell runs commands for an agent: a line in the system's shell, or a program with
// arguments.
//
// # Vocabulary
//
// A [Shell] is the program that runs command lines. A [Command] runs for the length of one call of
// Run, and an [Outcome] describes its end. [Stream] passes on what it prints, in whole characters
// ([Decoder]), while it runs. A [Request] is a command as an external agent asks its client for it
// (terminal/create of ACP); a [Terminal] is that command while it runs and after it has ended,
// until the agent releases it. [Terminals] holds those of one session.
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
//   - A terminal keeps at most 1 MiB, the end of its output. A session has at most 32 that run and
//     about as many that have ended. When Terminals.Close returns all commands have ended; daemons
//     that they left end with the guard.
//   - This package decides nothing: its callers have asked policy about each command, and have
//     opened its folder (files.Place). Request.Line is the line to judge: variables that an agent
//     adds are a part of it, because some make a harmless command run another one.
//
// # Locks and goroutines
//
// Run owns the goroutines of its command: one waits for the program, and for each pipe one reads
// and one passes on. It waits for them all. A terminal has one more, around Run; Terminals.Close
// waits for it. Terminals has a mutex for its list, and each Terminal one for its output; neither
// is held while the other is taken, or while output is passed on.
//
// # Why
//
// ACP says that a command and its arguments are run as they are, but agents also send a whole
// command line without arguments, as its reference client accepts. A program with arguments that
// is not found goes to the shell, quoted: it may be a command of the shell's own, and if not, the
// agent reads the shell's message and exit code 127, as it would elsewhere.
package shell
