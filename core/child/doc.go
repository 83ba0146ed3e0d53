// Package child starts programs, and ends them with all that they have started.
//
// # Vocabulary
//
// A [Group] is a program that was started here and all that it starts. On Unix it
// is a session, which the program leads, and on Linux also what has left the session
// and was seen while its parent was of the group; on Windows it is a job object. A guard is a
// process beside the group that ends it when we are killed. The gate is what the
// program's process waits at until it has a guard.
//
// # What holds
//
//   - When Close returns, or soon after we are killed, no process of the group is
//     left. Nor is its guard, which outlives neither.
//   - A program does not run before its guard does. When we die in between, it
//     never runs.
//   - Neither gate nor guard is seen by the program: its input, its environment and
//     its open files are what it would have without them.
//   - A guard holds nothing but its pipe: no file, no folder and no variable of the
//     program's or of ours.
//   - Nobody signals a number that has come to mean others. The program is waited
//     for only after its guard was dismissed and when no method sends any more.
//
// # Locks and goroutines
//
// A group has one lock, a leaf: it is held while signals are sent and the group's
// processes are looked for (a second at the most, by Kill), so that Close, which gives
// the number back, waits for those who use it. Run alone has a goroutine, which it
// waits for.
//
// # Why
//
// When we are killed we can do nothing any more, so something else must end what
// we have started. On Windows the job object ends with our handle on it. On Linux
// a program can be killed with us by a parent-death signal ([DieWithThread]), but
// what it has started is not. So on every Unix a group has a guard: a small sh that
// reads from a pipe whose other end only we hold, and that kills the group when the
// pipe ends. It is not polite, and stops the group first of all: in a pause the
// group's number may come to mean another group. The program's process waits, as a
// small sh too, until its guard runs, and only then becomes the program: without that,
// what a program starts in its first moments was seen to outlive us on a busy machine.
// Of the two milliseconds that all this adds to a start, most go into that wait.
//
// The gate is descriptor 3, not the input: that is the program's from its first
// byte. The sh is the system's own, /bin/sh, and that of PATH where there is none.
//
// A browser that a server has started in a session of its own is meant to end with
// the server, and often does not by itself; a daemon, whose parent has ended, is meant
// to stay. So a parent makes the difference, or to have been seen while it was there.
//
// What this does not cover: groups and sessions that a program makes are found on
// Linux alone. With DieWithThread the program is gone before its guard looks, so
// sessions that it has made are not found then. Where there is no sh (or no process
// can be started for it), programs run without a guard: then only what DieWithThread
// was said for dies with us, and outside of Linux not even that. The same holds after
// a program has killed its guard. A program whose environment has names that are none
// in the shell's language does not wait for its guard, since some shells would lose
// them on the way. Outside of Linux, or without /proc, a program is waited for as soon
// as it has ended, so the number of a group that has ended is free for a moment before
// its guard is dismissed. On Windows, what a program starts in the instant before it is
// put into the job object is not in it.
package child
