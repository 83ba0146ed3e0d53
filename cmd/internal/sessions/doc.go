// Package sessions lists, shows, repairs and removes the stored sessions.
//
// # What holds
//
//   - Nothing is run: a gateway that only reads has no profile.
//   - A session that is open in another process is not touched, unless its removal is forced.
//   - A damaged log is kept next to its replacement.
package sessions
