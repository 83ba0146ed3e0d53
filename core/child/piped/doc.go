// Package piped runs programs that are spoken to over their standard input and output: MCP
// servers, and agents of others.
//
// A [Command] is started under a guard of package child. The [Process] has one owner, who reads
// Stdout, writes Stdin and calls Close, at the latest when Done is closed or Stdout has ended. Its
// standard error is read all the time: the end of it is kept for [Process.Why] and
// [Process.Last], and Line gets each line.
//
// # What holds
//
//   - A program is found in the PATH that it will have itself, never by its name alone in a
//     folder relative to ours.
//   - When Close returns, the program, its group and our goroutines for them have ended. How long
//     that takes is bounded by the times that the caller gives, because programs differ: some need
//     seconds to save their state after the end of their input, some never end by themselves.
//   - The environment ([Env]) has nothing of ours but what [child.Safe] lists, proxies with their
//     passwords, the chain of gateways, and what the caller names.
package piped
