// Package jsonl keeps sessions in files: the embedded store.
//
//	<dir>/index.jsonl                      summaries, for lists
//	<dir>/sessions/<2 hex>/<key>.jsonl     a session's log
//	                       <key>.lock      locked by the session's owner
//	                       <key>.owner     who that is, for people
//	                       <key>.values/   what is too big for a line, by digest
//	                       <key>.spill/    tool output that was cut (Meta.Spill)
//	                       <key>.jsonl.damaged  the log as it was before it was repaired
//	                       <key>.gone      the log of a session that is being deleted
//
// The key is the first 32 hexadecimal digits of the SHA-256 of the principal and
// the id, since clients choose ids and a file's name must not be theirs to
// choose. Folders are 0700, files 0600, whatever the umask. A data folder that
// others own or may write to is refused, and below it no symbolic link is
// followed. Nothing is made before the first session is.
//
// # The log
//
// The first line says the format and its features; the others are records as
// core.Encoder writes them, Opened first. Each line is JSON and ends with its
// CRC32C, and carries the epoch of the owner that wrote it. Reading drops lines
// of a lower epoch behind one of a higher: a stale owner changes nothing.
//
// A last line without an end is a write that the death of the process cut short;
// nobody was told that it succeeded, and the next owner cuts it off. A log whose
// features this version does not know can be read, and nobody can claim it.
//
// A record whose body is over 256 KiB stands in a file of its own, named by its
// digest; its line has the digest. So lines are bounded, and reading takes
// constant memory.
//
// # Damage
//
// A line that has an end and is bad, numbers that are missing and records out of
// their order are damage. All that is good is read, in front of the damage and behind
// it, under the numbers and offsets that it always had. Where numbers show that
// records are missing, a core.Missing takes their place and says how many, in which
// file and at which byte. Where a part of a run is missing, a text of the same length
// takes its place; where it may be the end of one, a text of any length. What no
// number shows is told by a core.Missing behind the last record, unless somebody owns
// the session: a line that looks damaged then may be one that is being written.
//
// These records are not in the file. They follow from it alone, so every reader gets
// the same ones, from wherever it begins. A record whose body is lost, or that makes
// no sense, is a core.Missing as well, and no damage otherwise.
//
// Nobody can claim a damaged log, and reading changes nothing. A log whose first two
// lines are damaged does not say what it is, and is not opened.
//
// Repair writes down what reading shows: the good lines as they were, and the records
// between them, under the feature "gaps". A process that has read the damaged log can go
// on with the repaired one, whose numbers are the same. The damaged log gets a second name
// first, <key>.jsonl.damaged (then .damaged-2, …), and the new one takes its place in one
// step. It is no log to anybody any more, stays until the session is deleted, and is
// never swept.
//
// # Owning and writing
//
// An owner holds a lock on <key>.lock, which dies with the process. The lock is
// only politeness: before each write the owner looks whether the log is as long
// as it left it, and if not, fails with core.ErrFenced for good. The lock file is
// removed only with the lock held, when there is no log, and whoever gets the lock
// looks whether the name still means the same file. A claim of what a living process owns
// is refused at once; a lock without a living owner is about to be given back
// and is waited for, up to 5 s.
//
// Write returns when the operating system has the bytes: they survive the death
// of the process. Sync makes them survive the loss of power. A write that fails
// half way is cut back, so that the file stays whole; after a failed Sync nothing
// more is written, since nobody can know what the medium has.
//
// # The index
//
// The index is derived. Every summary is appended to it, so the sessions used
// last stand at its end, and a list is read from there. A summary is believed as
// long as the log has the length that it had then, or its owner lives; else it is
// derived from the log, once: the list appends what it has looked up, marked so that
// the session keeps its place among the others. An index that is missing or damaged is made again from
// the logs, which takes as long as reading them all. It is rewritten without what
// is obsolete when it has doubled, and when a session is deleted. A log that was
// copied in by hand is not listed until the index is removed. In a data folder that
// cannot be written, lists say what the logs say.
//
// # After a crash
//
// A crash leaves who owned a session, files that were being written, locks of
// sessions that were never made, and sessions that were being deleted. A list that
// comes upon one of them sweeps the whole folder, and so does whoever rewrites a
// large index or makes a new one. A session is swept with its lock held, so nobody
// uses it then; one whose owner is on another host is left alone.
//
// # Concurrency
//
// A Store may be used by any number of goroutines and processes. A journal is
// written by one goroutine at a time; reading may happen beside it. The package
// starts no goroutines, and holds no mutex while it waits for a file.
//
// # Why
//
// Files, and no database: eight processes appended 14,800 durable events a second
// with a worst wait of 4 to 14 ms, against 3,000 and up to 2.9 s with SQLite; the
// start costs 0.3 ms; and a person can read what is there. Lock files that their
// owner deletes gave two owners at once in nearly all of 37,935 claims, without
// the look at the name. A lock alone cannot fence: a process that was stopped for
// an hour wakes up believing that it has one.
package jsonl
