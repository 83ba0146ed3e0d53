// Package fork makes copies of sessions.
//
// A copy has the effective log of its session up to a position. It belongs to the user
// and has no parent. An agent that keeps its own history forks that as well. A copy
// that cannot be completed is deleted.
package fork
