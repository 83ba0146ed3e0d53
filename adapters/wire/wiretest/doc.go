// Package wiretest connects a wire.Conn to a peer that a test plays by hand or by a
// [Script], over pipes in memory. All that blocks in it blocks durably, so it works
// inside testing/synctest bubbles; it starts no goroutine but [Serve]'s, for which stop
// waits.
package wiretest
