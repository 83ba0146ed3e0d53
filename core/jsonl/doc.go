// Package jsonl keeps sessions in files: the embedded store.
//
//	<dir>/index.jsonl                      summaries, for lists
//	<dir>/sessions/<2 hex>/<key>.jsonl     a session's log
//	                       <key>.lock      locked by the session's owner
//	                       <key>.owner     who that is, for people
//	                       <key>.values/   what is too big for a line, by digest
//	                       <key>.spill/    tool output that was cut (core.Spills)
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
// codec.Encoder writes them, Opened first. Each line is JSON and ends with its
// CRC32C, and carries the epoch of the owner that wrote it. Reading drops lines
// of a lower epoch behind one of a higher: a stale owner changes nothing.
//
// A last line without an end is a write that the death of the process cut short;
// nobody was told that it succeeded, and the next owner cuts it off. A log whose
// features this version does not know can be read, and nobody can claim it.
//
// A record whose body is over 256 KiB is kept in a file of its own, named by its
// digest; its line has the digest. So lines are bounded, and reading takes
// constant memory.
//
// # Damage
//
// A log is damaged if it has a bad line that is not the unfinished last one, if numbers
// are missing, or if records are out of order. Reading yields everything that is good,
// before and after the damage, with its original numbers and offsets. Where the numbers
// show that records are missing, a core.Missing takes their place and says how many, in
// which file and at which byte. Where a part of a run is missing, a text of the same length
// takes its place; where the end of a run may be missing, a text of any length does. Damage
// that no number shows is reported by a core.Missing behind the last record, unless
// somebody owns the session: then a line that looks damaged may be one that is being
// written.
//
// These records are not in the file. They depend on the file alone, so every reader gets
// the same ones, wherever it begins. A record whose body is lost, or that cannot be
// decoded, is read as a core.Missing too, but does not make the log damaged.
//
// A damaged log cannot be claimed, and reading changes nothing. A log whose first two
// lines are damaged cannot be identified, and is not opened.
//
// Repair writes what reading shows: the good lines unchanged, and the records that fill
// the gaps, under the feature "gaps". A process that has read the damaged log can continue
// with the repaired one, whose numbers are the same. The damaged log first gets a second
// name, <key>.jsonl.damaged (then .damaged-2, …), and the new one replaces it in one step.
// Nothing reads or sweeps the damaged log after that; it stays until the session is
// deleted.
//
// # Owning and writing
//
// An owner holds a lock on <key>.lock, which dies with the process. The lock alone is not
// enough: before each write the owner checks that the log is still as long as it left it,
// and if not, fails with core.ErrFenced for good. The lock file is removed only with the
// lock held, when there is no log, and a process that gets the lock checks that the name
// still means the same file. A session that a living process owns cannot be claimed, and
// the claim fails at once. A lock that is held without a living owner will be free soon,
// and a claim waits for it for up to 5 s.
//
// Write returns when the operating system has the bytes: they survive the death
// of the process. Sync makes them survive the loss of power. A write that fails
// half way is cut back, so that the file stays whole; after a failed Sync nothing
// more is written, since nobody can know what the medium has.
//
// # The index
//
// The index is derived from the logs. Every summary is appended to it, so the sessions used
// last are at its end, and a list is read from there. A summary is used as long as the log
// has the length that it had then, or its owner lives. Otherwise the list derives it from
// the log and appends it, marked so that the session keeps its place among the others. An
// index that is missing or damaged is rebuilt from the logs, which takes as long as reading
// them all. It is rewritten without obsolete entries when it has doubled, and when a
// session is deleted. A log that was copied in by hand is not listed until the index is
// removed. In a data folder that cannot be written, lists are made from the logs.
//
// # Watching
//
// The log of a session that another process owns is looked at every 100 ms while somebody
// watches it: at its length, and at whether its owner is there. Sessions that nobody owns are
// not looked at. The index is, every 200 ms and once for all of them, because whoever claims a
// session touches it; the owner files then show which one it was.
//
// Reading keeps where it came to the end of a sound log, so that a viewer that follows reads only
// what was added: 54 µs for a record behind 100,000 others, and not 134 ms.
//
// # After a crash
//
// A crash leaves owner files, files that were being written, locks of sessions that were
// never made, and sessions that were being deleted. A list that finds one of them sweeps
// the whole folder, and so does rewriting a large index or making a new one. A session is
// swept with its lock held, so nobody uses it then; one whose owner is on another host is
// left alone.
//
// # Concurrency
//
// A Store may be used by any number of goroutines and processes. A journal is
// written by one goroutine at a time; reading may happen beside it. A Store has one
// goroutine, while sessions are watched. The package holds no mutex while it waits for a file.
//
// # Why
//
// Files, and no database: eight processes appended 14,800 durable events a second
// with a worst wait of 4 to 14 ms, against 3,000 and up to 2.9 s with SQLite; the
// start costs 0.3 ms; and a person can read what is there. Lock files that their
// owner deletes gave two owners at once in nearly all of 37,935 claims, without
// the look at the name. A lock alone cannot fence: a process that was stopped for
// an hour wakes up believing that it has one.
//
// Watching is stat, and no inotify: a look at the index takes 2.5 µs, so an idle process spends
// 13 µs of each second on any number of sessions, and a look at a log with its owner takes 8 µs.
// It works the same on every system, in network folders and without a descriptor, and sees a
// dead owner, of which no file system tells.
package jsonl
