// Package pump is the room between the core and a connection's writer, the same
// for every dialect that streams.
//
// A connection has one [Pump]: the one goroutine that reads the logs of its
// sessions, encodes what is new, and hands it to the wire. It alone orders an
// answer against updates: what must follow a record (the answer to a prompt, to a
// load) is done by the pump right behind that record. A connection has a [Queue]
// for each session, in which commands that may wait (for a disk, a claim, a
// server) run one after the other, in the order in which they were read. And
// [Prompts] knows the prompts that were read and have not ended, so that a cancel
// reaches exactly those that were read before it.
//
// Text that is being written may have a pace: then it comes in few messages, whatever
// pace the model has. Nothing else waits for it, and nothing overtakes it.
//
// Goroutines: Run belongs to whoever calls it; a Queue's goroutine lives while it
// has something to do and belongs to the WaitGroup it was given.
//
// # Why
//
// Answers that are released by other goroutines overtake updates. And a cancel
// that is handled beside its prompt is lost when both come in one read; here it
// ends contexts on the reading goroutine, whatever the prompt is waiting for.
//
// Text is held back by a clock and not until the client has read what was written: what
// lies in the system's pipe, unread, cannot be seen.
package pump
