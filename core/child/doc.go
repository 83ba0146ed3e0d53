// Package child starts programs, and ends them with all that they have started.
//
// # Vocabulary
//
// A [Guard] starts programs and ends what is left of them; on Linux it is a process, this
// program itself under another name, that is their parent. A [Group] is one program and
// all that it starts. A daemon is a process that has left the program's session and whose
// parent has ended. A mark is what tells whose a process is (Linux): a limit of no effect
// that programs inherit. Where guards are no processes, each program has a watch, a small
// sh beside it that ends it when we die, and a gate, at which its process waits until the
// watch runs.
//
// # What holds on Linux
//
//   - When we die, however that happens, or a guard is closed, all that it has started
//     is killed, daemons included, and the guard ends as the last of them.
//   - When [Group.Kill] or [Group.Close] returns, nothing of the group is left, and nothing
//     of the guard's other groups was touched. A daemon of a group that was spared lives
//     until its guard is closed.
//   - A program that runs has a guard: what cannot be guarded is not started.
//   - A guard holds one end of a socket and the null device: no file, no folder and no
//     variable of the programs' or of ours. It hears no signal but those that cannot be
//     refused.
//   - A program sees nothing of its guard but that it is its parent and the mark, in
//     `ulimit -R`: its input, its environment, its open files, its signals are its own.
//   - A guard that rests ([Guard.Rest]) has no process. It rests only where nothing is left
//     of what it has started, daemons included.
//   - A guard that is killed takes its programs along: the system kills them with it, and we
//     find the rest by its mark. The next program has a new guard. One that is stopped is
//     told to go on when it is asked for something.
//   - Nobody signals a number that has come to mean another process.
//
// # Locks and goroutines
//
// Guard and Guards have a lock each; that of Guard is held while its process is started.
// Requests to a guard's process are written one after the other; it reads at all times.
// Behind each process stands one goroutine of ours, which reads what it says until it has
// ended; Guard.Close waits for that. A program whose streams are no files has a goroutine
// for each, which Group.Close waits for. The guard's process has one goroutine that does
// everything, and one that reads.
//
// # Why
//
// When we are killed we can do nothing any more, so something else must end what
// we have started. A process beside the programs cannot: what has left its session and
// lost its parent is nobody's by then, and of a hundred programs that were started in
// ten ways 45 outlived us so. A parent that is a subreaper (prctl) inherits whatever
// loses its own parent, so that all of it stays below the guard and can be found there. It
// stops what it finds until it finds nothing new, kills all of that, and goes on until the
// system says that it has no children. An sh cannot be a subreaper, and a program of our
// own needs no file of its own: /proc/self/exe is this one also when an update has replaced
// it. The package's init takes the guard's way before the rest of the program is set up.
//
// That nothing was found is no proof that nothing is left, since /proc is read line by line
// while processes start, end and change their parents. A program of several threads, node
// say, that was killed or ends is listed as a zombie as soon as its first thread has ended.
// Its children are still below it then, and on a busy machine stay there for some time: a
// guard that took zombies for dead lost sight of them, went, and left them. So a process
// lives as long as one of its threads does, one whose parent has ended meanwhile is looked
// at again, and a guard goes when the system says that it has no children.
//
// One guard starts all programs of a session, because a process of ours for each costs
// more than the program: measured for /bin/true on a busy machine, 18 ms with the start and
// the end of a guard, 2.7 ms for each later program, and 7 ms where others run beside it
// and /proc is searched for what it has left; with a gate and a watch of sh it took 12 ms.
//
// What ends with one group while others go on must be told apart. Descent and session do
// not tell of a daemon. A variable in the environment (as Jenkins has it) is lost with
// `env -i` and is seen by the program; a control group is not ours to make; a namespace
// changes what programs see. A limit is inherited by everything, and RLIMIT_RTTIME is
// looked at for real-time processes only: as a mark it means some hundred thousand years. Whoever
// changes it on purpose, is started by others (a service manager, a container), or runs as
// another user cannot be told apart, and ends with the guard; where the limit cannot be set
// (a 32-bit system, or a hard limit), so do all daemons.
//
// A daemon that a command leaves behind is meant to stay (a build server, an agent that
// holds keys), but not for longer than the session. What the user's own configuration
// has started to give a key ([Run]) may stay for good: gpg-agent serves others too.
//
// What this does not cover on Linux: processes that we may not signal (another user's), and
// what was started for a program by somebody else. A guard that is stopped ends nothing
// before it goes on.
//
// On other Unix systems a group is the program's session. Each program waits at its gate
// until its watch runs, so that nothing it starts in its first moments is missed; the watch
// stops and kills the process group when the pipe to us ends. Groups and sessions that a
// program makes are not found there, neither when it is ended nor when we die, and Guard.Close
// ends nothing by itself. Where there is no sh, programs run without a watch; a program whose
// environment has names that are none in the shell's language does not wait for its watch,
// since some shells would lose them on the way. The number of a group that has ended is free
// for a moment before its watch is dismissed. On Windows a group is a job object, which ends
// with us; what a program starts in the instant before it is put into the job is not in it.
package child
