// Package logs writes logs for people to read later, without delaying anything.
//
// Log is the program's own log, Servers are those of MCP servers, and Audit records the calls of
// their tools.
//
// # What holds
//
//   - A log delays nothing. Lines go through a backlog of 256 KiB (writer); lines that do not fit
//     are dropped, and the log contains their number. The end of the program waits a quarter of a
//     second.
//   - Nothing is written to standard output, which belongs to the protocols.
//   - Only their owner can read the files. Those of servers, and the audit, are rotated at 1 MiB;
//     one older file is kept. Several processes may write them at once.
//   - A log contains no invisible characters: on a screen they hide the text around them.
package logs
