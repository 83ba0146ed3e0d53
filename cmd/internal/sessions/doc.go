// Package sessions lists, shows, copies, archives, repairs and removes the stored sessions.
//
// # What holds
//
//   - Nothing is run: a gateway that only reads has no profile.
//   - A session that is open in another process is not touched, unless its removal is forced.
//   - A damaged log is kept next to its replacement.
//   - A file is read again before it gets its name, and checked to its end before a session is made of it
//     (package bundle).
package sessions
