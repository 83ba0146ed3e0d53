// Package agents deals with the external agents of the configuration: it resolves the settings of
// their programs, lists what is installed, finds out why one does not start, and logs in to them and out.
//
// # What holds
//
//   - Keys are looked up when a program is started, and are never shown.
//   - Only an Examination, Login, Logout and Sessions start a program, and they end it. A program that asks at the
//     terminal has it for itself meanwhile.
package agents
