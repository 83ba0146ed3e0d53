// Package datadir keeps small files that several processes read and change at once.
//
// # What holds
//
//   - A [Lock] has one holder at a time among all processes. It ends with its process. It
//     is released by unlocking it and not only by closing the file: a program that is being
//     started at that moment has a copy of every descriptor until it executes, and would keep
//     the lock until then.
//   - Locks are advisory. They hold on local file systems; on network ones as far as those
//     pass them on.
//   - [Replace] and [Create] write a file aside, under a name that nobody can know before, and
//     put it in its place whole: a reader sees the old content or the new one, a crash or the
//     loss of power leaves one of them. What they write is for this user only.
//   - A [Document] is changed by one process after the other, each of which reads what the one
//     before it wrote. A file that cannot be read is never overwritten.
//   - Only regular files are read, up to a limit: nothing waits for a pipe.
//
// # Locks and goroutines
//
// There are no goroutines. A Document's mutex is never held while a file is read, written or
// locked.
package datadir
