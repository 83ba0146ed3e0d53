// Package child starts programs and ends them together with everything they have started.
//
// # Vocabulary
//
// A [Guard] starts programs and ends what is left of them. On Linux it is a process, this
// program itself under another name, and the parent of the programs. A [Group] is one
// program and everything it starts. A daemon is a process that has left the program's
// session and whose parent has ended. A mark shows which program a process belongs to
// (Linux): it is a resource limit that has no effect and that programs inherit. On other
// Unix systems each program has a watch, a small sh beside it that ends the program when we
// die, and a gate, at which the new process waits until the watch runs.
//
// # What holds on Linux
//
//   - When we die, however that happens, or a guard is closed, everything that it has
//     started is killed, daemons included. The guard ends last.
//   - When [Group.Kill] or [Group.Close] returns, nothing of the group is left, and nothing
//     of the guard's other groups was touched. A daemon of a group that was spared lives
//     until its guard is closed.
//   - Every running program has a guard: a program that cannot be guarded is not started.
//   - A program that asks at our terminal ([RunAtTerminal]) stays in our session and process
//     group. Its guard is in the session too, but in a group of its own.
//   - A guard holds one end of a socket, the null device, and the files that it is given to
//     hold ([Guard.Keep]). It has no other file, no folder and no variable, neither the
//     programs' nor ours. It obeys no signal that a process can refuse.
//   - A lock (flock) on a file that a guard holds is free when we have died and everything that
//     the guard has started is gone, and not before. Left out: processes that we may not signal,
//     and a guard that is killed together with us: its programs end a moment after its files.
//   - A program can see its guard only as its parent process, and the mark with
//     `ulimit -R`. Its input, environment, open files and signals are its own.
//   - The process of a guard in a [Sandbox] is confined like its programs. It can be the first of
//     a namespace of processes: then the system ends all that is in there with it.
//   - A guard that rests ([Guard.Rest]) has no process. It rests only where nothing that it
//     has started is left, daemons included.
//   - When a guard is killed its programs end too: the system kills them, and we find what
//     is left by the mark. The next program gets a new guard. A guard that was stopped is
//     sent SIGCONT when it is asked for something.
//   - A signal never reaches another process that has been given the number of an old one.
//
// # Locks and goroutines
//
// Guard and Guards have a lock each. Guard's is held while its process starts, is given files
// or comes to rest. Requests to a guard's process are written one at a time; the process always reads.
// For each guard's process one goroutine of ours reads the answers until the process has
// ended; Guard.Close waits for it. A stream that is not a file has a goroutine, for which
// Group.Close waits. In the guard's process one goroutine reads requests and carries them out,
// and one waits for programs to end; a turn, a channel, keeps them apart.
//
// # Why
//
// Once we are killed we can do nothing, so something else must end what we have started. A
// process beside the programs cannot do that: nothing shows any more to whom a process
// belongs that has left its session and lost its parent. Of a hundred programs, started in
// ten ways, 45 outlived us like that. A parent that is a subreaper (prctl) inherits every
// process below it that loses its own parent, so all of them stay below the guard, which
// can find them there. It stops what it finds until it finds nothing new, kills all of
// that, and repeats this until the system says that it has no children. An sh cannot be a
// subreaper. Our own program can, and needs no extra file: /proc/self/exe is the running
// program even after an update has replaced it on disk. The package's init turns the
// process into a guard before the rest of the program is set up.
//
// A search that finds nothing does not prove that nothing is left, since /proc is read
// entry by entry while processes start, end and change their parents. A program with
// several threads, such as node, is listed as a zombie as soon as its first thread has
// ended. Its children are still below it then, and on a busy machine stay there for some
// time: a guard that ignored zombies missed them, ended, and left them behind. So a
// process counts as alive as long as one of its threads is, a process whose parent has
// ended during the search is looked at again, and a guard ends only when the system says
// that it has no children.
//
// Most programs leave nothing, and no search is needed to know that: when a program has ended, its guard
// looks at its own children alone. What has lost its parent is among them, so if all of them are programs
// that run, the group is gone. The guard says so when it reports the end, and nobody asks it again.
//
// One guard starts all programs of a session, because a guard for each would cost more than
// the program itself. Measured with /bin/true on a busy machine: 18 ms including the start
// and the end of a guard, 2.7 ms for each later program, and 7 ms when others run at the same time
// and /proc is searched for what is left of it. With a gate and a watch of sh it took 12 ms.
//
// The two goroutines of a guard sleep in system calls of their own. When one that read requests passed them
// to another one that did the work, the first entered its next system call, and the work began only when
// Go's scheduler found that this took long. On a machine with more work than processors a start took 2.5
// times as long like that.
//
// When one group ends while others continue, the guard must know which processes belong to
// which group. Neither parent nor session shows that for a daemon. A variable in the
// environment (as Jenkins uses) is lost with `env -i`, and the program sees it. We may not
// make control groups, and a namespace changes what programs see. Everything inherits a
// limit, and RLIMIT_RTTIME matters only to real-time processes, for which the mark means
// more than a hundred thousand years. A process whose mark cannot be known ends with the
// guard: one that changes the limit on purpose, was started by something else (a service
// manager, a container), or runs as another user. Where the limit cannot be set (a 32-bit
// system, or a hard limit) all daemons end with the guard.
//
// A daemon that a command leaves behind is meant to stay (a build server, an agent that
// holds keys), but not longer than the session. A program that the user's own configuration
// starts to get a key ([Run]) may stay for good: gpg-agent serves other programs too.
//
// A program at our terminal could have a process group of its own in the foreground. Then
// somebody would have to give the terminal back and forth whenever it stops or goes on, as a
// shell does. In our group the shell does that for both of us. The guard cannot be in a session
// of its own then: a process gets into no group of another session.
//
// Not covered on Linux: processes that we may not signal (another user's), and what
// something else has started for a program. A guard that is stopped ends nothing until it
// is resumed.
//
// On other Unix systems a group is the program's session. Each program waits at its gate
// until its watch runs, so nothing that it starts in its first moments is missed. The watch
// stops and kills the process group when the pipe from us ends. It holds the files that the guard
// had been given before the program was started, until it has sent the signals: the processes may
// need a moment more to be gone. Process groups and sessions
// that a program makes are not found there, neither when it is ended nor when we die, and
// Guard.Close ends nothing by itself. Without an sh, programs run without a watch. A program
// whose environment has names that no shell variable can have does not wait for its watch,
// since some shells would lose those variables. The number of a group that has ended is free
// for a moment before its watch is dismissed. A program at our terminal has no watch, because
// its group is ours: only the program itself is ended. On Windows a group is a job object, which ends
// with us, and nothing holds files longer than we do; what a program starts in the instant before it is put into the job is not in it.
package child
