// Package agents deals with the external agents of the configuration: it resolves the settings of
// their programs, lists what is installed, and finds out why one does not start.
//
// # What holds
//
//   - Keys are looked up when a program is started, and are never shown.
//   - Only Doctor starts a program, in a folder of its own, and ends it.
package agents
