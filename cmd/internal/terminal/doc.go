// Package terminal is the interface to a person at a terminal.
//
// Chat is the conversation, alone or in a session that other clients use at the same time, and Run
// a single turn in which nobody can be asked. The package also
// has functions for other commands that talk to a person: colours, a question, hidden input, and a
// session as a text to read.
//
// # What holds
//
//   - Input that was typed or pasted before a question was on the screen never answers it. Each
//     line has the number of questions that were shown when its first character was read (input),
//     and reading and numbering are one step.
//   - A line that was begun as a prompt, while other clients' turns run, is never turned into an
//     answer: a question takes the line only when nothing is typed (input.next).
//   - A question is put until a client has settled it. What was typed as an answer that came too
//     late is dropped.
//   - Leaving ends no turn of another client, except with the process that runs it, and that waits.
//   - A paste is one prompt, and approves nothing. Lines that come at once count as pasted if the
//     terminal puts no marks around a paste.
//   - What was typed as an answer, and thus every secret, is not in the history of prompts.
//   - Only the goroutine of the conversation writes to the screen. Keys are read by another one,
//     and only change the line in memory (keyLine). A third one waits for a prompt to be stored;
//     until then nothing of the session is read, so its turn is known as the chat's own.
//   - Whatever is written takes the typed line off the screen first (screen.lift), and the next step
//     of the conversation draws it again below.
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
// The conversation is one loop over keys, records and signals (step). A chat that read records only
// during its own turn, as this one once did, cannot show a session that others use.
//
// A text that is being streamed may end in the middle of a line. That line is kept (screen.tail) and
// written again when the typed line is taken away, because terminals cannot return to a column that
// they have wrapped at.
//
// golang.org/x/term was tried for both kinds of input and left out. Its line editor takes Ctrl-C
// and Ctrl-Z away from the system, makes a prompt of each line of a paste, and does not tell
// which question was on the screen when a key was pressed. Its ReadPassword does not end with
// Ctrl-D. Only the width of the window would be left to use.
package terminal
