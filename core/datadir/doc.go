// Package datadir keeps small files that several processes read and change at once.
//
// # What holds
//
//   - A [Lock] has one holder at a time among all processes, or several that share it
//     ([WaitShared]). It ends with its process.
//     It is released by unlocking, and not only by closing the file: a program that is
//     being started at that moment has a copy of every descriptor until it executes,
//     and would keep the lock until then. A process that was given the file on purpose
//     (Lock.File) keeps it for as long as it lives, if ours dies before.
//   - A lock that is taken often keeps its file open in between (Lock.Pause, Lock.Resume).
//   - Locks are advisory. They work on local file systems, and on network ones that
//     support them.
//   - [Replace] and [Create] (with [ReplaceBy] and [CreateBy] for long contents) write a temporary file with an unpredictable name, and
//     move it to its place as a whole: a reader sees the old content or the new one,
//     and a crash or a loss of power leaves one of them. The files are only for this
//     user.
//   - A [Document] is changed by one process at a time, which first reads the changes
//     of the others. A file that cannot be read is never overwritten.
//   - Only regular files are read, up to a limit: nothing waits for a pipe.
//
// # Locks and goroutines
//
// There are no goroutines. A Document's mutex is never held while a file is read, written or
// locked.
package datadir
