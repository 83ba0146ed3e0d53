// Package logs writes down what happens, for people to read later, without holding anybody up.
//
// Log is the program's own log, Servers are those of MCP servers, and Audit records which of their
// tools were called.
//
// # What holds
//
//   - Nobody waits for a log. Lines go through a backlog of 256 KiB (writer); what does not fit is
//     dropped, and the log says how many lines are missing. The end of the program waits a quarter
//     of a second.
//   - Nothing is written to standard output, which belongs to the protocols.
//   - Files are for their owner's eyes. Those of servers, and the audit, are put aside at 1 MiB; one
//     older file is kept. Several processes may write them at once.
//   - No log holds invisible characters: on a screen they hide the text around them.
package logs
