// Package pump connects the core with a connection's writer, in the same way for every
// protocol that streams.
//
// A connection has one [Pump]: the one goroutine that reads the logs of its
// sessions, encodes new records, and passes them to the wire. It alone orders an answer relative
// to updates: an action that must follow a record (the answer to a prompt, to a load) is
// performed by the pump right after that record, and what must precede records is given to it
// before they are written. A connection has a [Queue] for each session, in
// which commands that may wait (for a disk, a claim, a server) run one after the other, in the
// order in which they were read. And [Prompts] knows the prompts that were read and have not
// ended, so that a cancel reaches exactly those that were read before it.
//
// Streamed text may have a pace: then it is sent in few messages, however fast the model is.
// Nothing else waits for it, and nothing overtakes it.
//
// Goroutines: Run belongs to its caller; a Queue's goroutine lives while it has work and belongs
// to the WaitGroup it was given.
//
// # Why
//
// Answers that other goroutines send overtake updates. And a cancel that is handled
// concurrently with its prompt is lost when both arrive in one read; here it ends contexts
// on the reading goroutine, whatever the prompt is waiting for.
//
// Text is held back by a clock, and not until the client has read the last message: unread
// data in the system's pipe cannot be seen.
package pump
