// Package terminal is the interface to a person at a terminal.
//
// Chat is the conversation, and Run a single turn in which nobody can be asked. The package also
// has functions for other commands that talk to a person: colours, a question, hidden input, and a
// session as a text to read.
//
// # What holds
//
//   - Input that was typed or pasted before a question was on the screen never answers it. Each
//     line has the number of questions that were shown when its first character was read (input),
//     and reading and numbering are one step.
//   - A paste is one prompt, and approves nothing. Lines that come at once count as pasted if the
//     terminal puts no marks around a paste.
//   - What was typed as an answer, and thus every secret, is not in the history of prompts.
//   - Only the goroutine of the conversation writes to the screen. Keys are read by another one,
//     and only change the line in memory (keyLine).
//   - The terminal is restored, however the program ends: also after a panic, and when a signal
//     stops or ends it.
//   - Foreign text goes through display before it reaches the screen, so that nothing moves the
//     cursor or hides a command's actions.
//   - Run asks nobody: every question is refused at once. Its answer goes to a pipe or a file
//     exactly as the model wrote it.
//   - Over a pipe lines come in the order that their writer chose; at its end every answer is no.
//
// # Why
//
// Chat edits its line itself (keys), because a terminal that edits lines keeps them until Enter:
// it is unknown whether such a line was typed before or after a question, and it is cut at 4 KiB.
// Terminals that cannot pass on single keys (Windows) edit lines, and input from before a
// question is dropped.
//
// golang.org/x/term was tried for both kinds of input and left out. Its line editor takes Ctrl-C
// and Ctrl-Z away from the system, makes a prompt of each line of a paste, and does not tell
// which question was on the screen when a key was pressed. Its ReadPassword does not end with
// Ctrl-D. Only the width of the window would be left to use.
package terminal
