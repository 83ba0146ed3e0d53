// Package jsonl keeps sessions in files: the embedded store.
//
//	<dir>/index.jsonl                      summaries, for lists
//	<dir>/index.folders                    times of folders whose summaries are those of the logs
//	<dir>/sessions/<2 hex>/<key>.jsonl     a session's log
//	                       <key>.lock      locked by the session's owner
//	                       <key>.owner     the owner's description, for people
//	                       <key>.values/   bodies that are too long for a line, by digest
//	                       <key>.spill/    tool output that was cut (core.Spills), and core.Texts
//	                       <key>.jsonl.damaged  the log before its repair
//	                       <key>.gone      the log of a session that is being deleted, or imported
//	                       <key>.arrival   the keys of the sessions that are imported with it
//
// The key is the first 32 hexadecimal digits of the SHA-256 of the principal and the
// id, because clients choose ids, and must not choose the name of a file. Folders are
// 0700, files 0600, whatever the umask. A data folder that others own or may write to
// is refused, and below it no symbolic link is followed. Nothing is created before the
// first session.
//
// # The log
//
// The first line contains the format and its features; the others are records as
// codec.Encoder writes them, Opened first. Each line is JSON and ends with its CRC32C,
// and carries the epoch of the owner that wrote it. Reading drops lines of a lower
// epoch after one of a higher: a stale owner changes nothing.
//
// A last line without an end is a write that was cut short when the process died; it
// was never reported as successful, and the next owner cuts it off. A log with
// features that this version does not know can be read, but not claimed.
//
// A record with a body over 256 KiB is kept in a file of its own, named by its digest;
// its line has the digest. So lines are bounded, and reading takes constant memory.
//
// # Damage
//
// A log is damaged if it has a bad line that is not the unfinished last one, if
// numbers are missing, or if records are out of order. Reading yields all good
// records, before and after the damage, with their original numbers and offsets. If
// the numbers show that records are missing, a core.Missing takes their place, with
// their number, the file and the byte of the damage. If a part of a run is missing, a
// text of the same length takes its place; if the end of a run may be missing, a text
// of any length does. Damage that no number shows is reported by a core.Missing after
// the last record, unless the session has an owner: then a line that looks damaged may
// be one that is being written.
//
// These records are not in the file. They depend only on the file, so every reader
// gets the same ones, wherever it begins. A record whose body is lost, or that cannot
// be decoded, is also read as a core.Missing, but does not make the log damaged.
//
// A damaged log cannot be claimed, and reading changes nothing. A log whose first two
// lines are damaged cannot be identified, and is not opened.
//
// Repair writes the result of reading: the good lines unchanged, and the records that
// fill the gaps, under the feature "gaps". A process that has read the damaged log can
// continue with the repaired one, which has the same numbers. The damaged log first
// gets a second name, <key>.jsonl.damaged (then .damaged-2, …), and the new one
// replaces it in one step. After that nothing reads or sweeps the damaged log; it
// stays until the session is deleted.
//
// # Owning and writing
//
// An owner holds a lock on <key>.lock, which the system releases when the process
// dies. The lock alone is not enough: before each write the owner checks that the log
// still has the length of its last write, and if not, fails with core.ErrFenced for
// good. The lock file is removed only by a process that has the lock, when there is no
// log, and a process that gets the lock checks that the name still refers to the same
// file. A session that a living process owns cannot be claimed, and the claim fails at
// once. A lock that is held without a living owner will be free soon, and a claim
// waits for it for up to 5 s.
//
// Write returns when the operating system has the bytes: they survive the death of the
// process. Sync makes them survive a loss of power, and the first one of a claim also the
// names of the session's files and its entry in the index. So making a session syncs nothing:
// until it is synced for the first time, a loss of power may undo it, or leave an empty log,
// which a list removes, or one without a beginning if more was written. A failed write is cut off, so that
// the file ends with a whole line; after a failed Sync nothing more is written,
// because the content of the medium is unknown.
//
// # The index
//
// The index is derived from the logs. It stays open with its lock file between changes, so a
// note takes the lock, looks whether the names still refer to the open files, and appends.
// Every summary is appended to it, so the sessions used last are at its end. A process keeps
// in memory what it has read of it, and a list reads what was added.
//
// A summary is used as long as the log has the length that it had then, or its owner lives. Otherwise the list
// derives it from the log and appends it, marked so that the session keeps its place
// among the others. A log that had this length is not looked at again while the time of its folder
// stays, since a claim makes a file there; the first sync of a claim makes that time durable. Sessions
// with an owner are always looked at, and so is a folder that has changed in the last 100 ms, or three seconds
// where times have no fractions: it may change again without getting another time.
// <dir>/index.folders has these times for other processes; it counts only for the index that it was
// written for.
//
// Conversations keeps the sessions with a message sorted by their last use, and changes that as the index
// grows. A list of them looks at the folders, at the logs in those that have changed, and at sessions with an
// owner. A log that differs from its summary may belong as far up as its time says: it is looked up when the list
// gets there. So a page takes the same time with any number of sessions, and sweeps only a few of them.
//
// An index that is missing or damaged is rebuilt from the logs, which takes as long as reading
// them all. ListNow does not wait for that if they are many: they are read in the background, the
// index is locked only at the end, and what was to be added meanwhile is in the logs. The index
// is rewritten without obsolete entries when it has doubled, and when a session is deleted. A
// log that was copied in by hand
// is not listed until the index is removed. In a data folder that cannot be written,
// lists are made from the logs.
//
// # Watching
//
// While a reader watches a session that another process owns, its log is checked every
// 100 ms: its length, and whether its owner is alive. Sessions without an owner are
// not checked. Only the index is, every 200 ms and once for all of them, because a
// process that claims a session touches it; the owner files then show which session it
// was.
//
// Reading remembers the end of a sound log, so that a viewer that follows the log
// reads only additions: 54 µs for a record after 100,000 others, instead of 134 ms.
//
// A session that is watched is marked every hour, by the time of its lock file. So a
// process that removes sessions by their age leaves it alone.
//
// # Importing
//
// The sessions of an Arrival are written under the names of logs that are being
// deleted, with their locks held. They get the names of logs together: those of tasks
// first, after their keys were noted, and the session itself last. A sweep that finds
// the keys and not the session removes the tasks. The session is in the index before
// anything is written, so a list that finds no log sweeps.
//
// # After a crash
//
// A crash leaves owner files, unfinished files, locks of sessions that were never
// made, and sessions that were being deleted or imported. A list that finds one of them sweeps the
// whole folder, and so does rewriting a large index or making a new one. A session is
// locked while it is swept, so it is not in use; sessions with an owner on another
// host are left alone.
//
// # Concurrency
//
// A Store may be used by any number of goroutines and processes. A journal is written
// by one goroutine at a time, and may be read at the same time. A Store has one
// goroutine while sessions are watched, and one while it rebuilds the index. The package holds no mutex while it waits for
// a file.
//
// # Why
//
// Files, and no database: eight processes appended 14,800 durable events a second with
// a worst wait of 4 to 14 ms, against 3,000 and up to 2.9 s with SQLite; the start
// costs 0.3 ms; and a person can read the files. Lock files that their owner deletes
// led to two owners at once in nearly all of 37,935 claims, without the check of the
// name. A lock alone cannot fence: a process that was stopped for an hour wakes up
// believing that it has one.
//
// Watching uses stat, not inotify: a check of the index takes 2.5 µs, so an idle
// process spends 13 µs of each second on any number of sessions, and a check of a log
// with its owner takes 8 µs. It works the same on every system, in network folders and
// without a descriptor, and notices a dead owner, which no file system announces.
package jsonl
