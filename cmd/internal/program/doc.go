// Package program holds the input of one run of dragoman: its streams, variables, flags and
// folders.
//
// # What holds
//
//   - Nothing is read or opened before it is needed. The flags are filled in after an Environment
//     is made, so nothing is derived from them before a command begins.
//   - Variables are only looked up through Lookup, so that the demo and tests run in an
//     environment of their own.
//   - The first signal ends a command in order, the second one ends the process at once.
//
// # Exit codes
//
// 0: done, also if the editor has left or a signal asked for the end. 1: it failed. 2: the
// command line is wrong. 128 + n: the second signal n. 141: nobody reads the output any more.
// "dragoman run" also has 3 (something was refused because nobody could be asked), 4 (a limit or the
// model's refusal ended the turn) and 128 + n for the first signal n; keyring has 3 if there is no such
// secret.
package program
