// Package terminal talks to a person at a terminal.
//
// Chat is the conversation. Around it stand what other commands need when a person looks at them:
// colours, a question, input that does not show, and a session as a text to read.
//
// # What holds
//
//   - What was typed or pasted before a question was on the screen never answers it. Each line has
//     the number of questions that were shown when its first character was read (input), and
//     reading and numbering are one step.
//   - A paste is one prompt, and approves nothing. Lines that come at once count as pasted where the
//     terminal puts no marks around a paste.
//   - The terminal is left as it was found, however the program ends: also after a panic, and when a
//     signal stops or ends it.
//   - Text of others goes through display before it reaches the screen, so that nothing moves the
//     cursor or hides what a command does.
//   - Over a pipe lines come in the order that their writer chose; at its end every answer is no.
//
// # Why
//
// Chat edits its line itself (keys), since a terminal that edits lines keeps them for itself until
// Enter: nobody knows whether such a line was typed before or behind a question, and it is cut at
// 4 KiB. Where terminals cannot hand over keys (Windows), they edit, and what was typed
// before a question is dropped.
//
// golang.org/x/term was tried for both kinds of input and left out. Its line editor
// takes Ctrl-C and Ctrl-Z away from the system, knows no paste as one piece and cannot
// say when a key was typed. Its ReadPassword does not end with Ctrl-D. What would be
// left is the width of the window.
package terminal
