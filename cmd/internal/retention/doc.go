// Package retention archives and deletes sessions that nobody has used for a time.
//
// # What holds
//
//   - The last use is that of the session or of one of its tasks, whichever is later (core.Summary.Updated):
//     a turn, or bringing it back from the archive. Tasks go with the session that delegated them. A task
//     whose session is gone, after a crash, goes by itself.
//   - A session is left alone while a process has it open, owns it or watches it, and while one owns or
//     watches one of its tasks. So is one whose log was changed within the last hour, for whatever reason.
//   - Each session is looked at again right before it goes. The store deletes it, which a crash does not
//     leave half done.
//   - A program that serves does it some minutes after its start, never before a client is answered, and
//     once a day in all processes together: the day is taken by writing it down, and not by a lock that
//     would be held.
//   - Without a configuration nothing happens, and no file is touched.
package retention
