// Package sessions lists, shows, repairs and removes the sessions that are kept.
//
// # What holds
//
//   - Nothing is run: a gateway that only looks has no profile.
//   - A session that another process has open is left alone.
//   - A damaged log is kept beside the one that replaces it.
package sessions
