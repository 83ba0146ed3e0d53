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
// Streamed text may have a pace: a client that has read all that was written gets new text at once,
// another one gets it in few messages, however fast the model is. Nothing else waits for it, and
// nothing overtakes it. A client that may have a queue of its own is judged by its speed alone, and
// gets the past of a session with pauses (flow.go), while other sessions go on.
//
// Goroutines: Run belongs to its caller; a Queue's goroutine lives while it has work and belongs
// to the WaitGroup it was given. While Run waits, the goroutine that has written text into a log
// encodes and writes it to the client by itself, if that does not have to wait: the pump's state
// belongs to whoever has its turn, and Run gets everything that is not text. So a feed's methods
// must not block, and whoever adds text to a log must hold no lock that a feed takes.
//
// # Why
//
// Answers that other goroutines send overtake updates. And a cancel that is handled
// concurrently with its prompt is lost when both arrive in one read; here it ends contexts
// on the reading goroutine, whatever the prompt is waiting for.
//
// Waking another goroutine for each piece of text cost more than everything else that is done with
// it when the pieces come one by one, as they do from most models.
//
// Clients suffer from many messages when they are busy, and then they do not read: unread data in
// the pipe shows it. Only Linux lets the writer see that; elsewhere a clock alone holds text back,
// since a pipe takes hundreds of messages before a write blocks.
package pump
