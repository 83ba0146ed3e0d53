// Package export writes a session into a file of its workspace.
//
// # What holds
//
//   - An existing file is never overwritten, and an incomplete one is removed.
//   - The exported file is never one that a program would run, read as settings or give to
//     agents.
//   - A file that the user's rules forbid to write is not written, whoever asks.
package export
