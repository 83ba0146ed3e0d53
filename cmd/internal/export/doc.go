// Package export writes a session into a file of its workspace.
//
// # What holds
//
//   - A file that is there is never written over, and what could not be written whole is removed.
//   - Nothing is written that a program would run or read as settings, or that agents are told.
//   - What the user's rules forbid to write is not written, whoever asks.
package export
