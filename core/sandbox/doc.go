// Package sandbox confines the commands of a session, and other programs that work beside it.
//
// # Vocabulary
//
// A [Profile] says what programs may touch. A [Workspace] says where a session works; a profile is
// made from it and from what is on the disk. A child.Level is how far the system can hold a profile;
// a [System] finds that out by trying. A launcher is this program once more, started under another
// name, which takes the restrictions upon itself and then becomes the guard (package child) that
// starts the commands. A [Session] is the sandbox of a session's commands and jobs; a program that
// lives longer than a command, such as a server, has one of its own ([Sessions.Alone]). Control files
// (files.ControlFile) decide what runs later without another question.
//
// # What holds at level full (Linux)
//
//   - Programs can change the workspace, its folders of git, /tmp and their caches, and nothing else.
//     All mounts are read-only but those; none has devices or gives a program its owner's rights.
//   - Places of keys, what is ours, and what the rules deny are masked. So are all Unix sockets
//     outside that somebody listens on when a command starts.
//   - Programs see the processes of the session's sandbox alone, and have a network of their own
//     with nothing but a loopback interface, on which a proxy may be their only way out
//     (Workspace.Serve). They have no capability and cannot get one.
//   - The commands of a session share processes, network and /tmp. Its first process is the guard,
//     so that the system ends all of them with it. When /tmp holds too much, they are ended and it is
//     emptied (bound); a file that is open and removed is not seen, and lasts as long as its program.
//     A changed profile gets a new sandbox for new
//     commands; jobs go on in the old one.
//   - What programs write to caches of the user's is in a layer of the workspace's own, and is never
//     used outside.
//
// # What holds at level files (Linux)
//
//   - Programs can change the workspace, a folder for temporary files and caches of their own, and
//     nothing else. They cannot read what is hidden outside of the workspace. Names can be seen
//     everywhere, and a file in a folder beside something hidden that was made later cannot be read.
//     Modes, times and attributes of their user's files can be changed everywhere: Landlock does not
//     bound that.
//   - They reach no network and no Unix socket, signal no process outside, and have no capability.
//   - They see other processes, and not into them.
//
// # What holds at both, and at level none
//
//   - The system calls that lead out of a sandbox are refused (barred, missing).
//   - When a command has ended, the control files of the workspace are as they were before. What
//     exists is mounted read-only at level full; everything else is compared before and after, and
//     what appeared, changed or is gone is put back and the change kept aside, until a person says
//     what becomes of it. At level none nothing else holds.
//   - Where a person has replaced the workspace, something hidden, or a control file that was mounted
//     read-only, the next command gets a new sandbox. While programs run, a replaced control file is
//     compared instead.
//
// # Locks and goroutines
//
// Sessions has a mutex for its table. Each Session has a turn, a channel that one holds who looks at
// the workspace, and a mutex for a callback. While programs run, a goroutine of the Session looks at
// the size of /tmp; closing the session waits for it. Starting the first command of a session blocks
// until its guard runs; each command looks at the control files of the workspace.
//
// # Why
//
// Rules on the text of commands cannot hold: of 77 lines that did what five rules denied, 49 passed.
//
// The launcher makes the namespaces, and not the gateway: an ordinary user may write the id maps only
// for a child of a process that can be inspected, and the gateway keeps keys in its memory. The new
// process is nevertheless the gateway's child (CLONE_PARENT), so that the launcher need not stay.
// It is started from a descriptor of our program that was opened when we started: at a path there may
// be a newer program by now.
//
// Some systems refuse namespaces to us and allow them to bubblewrap, such as Ubuntu, whose AppArmor
// knows that program. Then bubblewrap makes the sandbox. What it starts there has no capabilities, so
// the profile is translated into its arguments, and our program comes in at the end: it passes the
// proxy's listener out, filters system calls and becomes the guard. Where we may make namespaces
// ourselves, we do: bubblewrap takes longer, and before version 0.11 it makes no layers.
//
// Everything is made read-only by one recursive mount_setattr: a remount of the root leaves the mounts
// below it writable. A folder for a command is passed by its name and not as a descriptor, which
// would lead out. A missing path is never mounted over: the mount point would be seen inside, and
// would stay behind. A mask is an empty file or folder, or a socket that nobody listens on, and no
// device: git takes a device for a change.
//
// The system takes a mount away with the file that it is on, when somebody outside replaces or removes
// it: an editor that saves, git that changes its configuration, our own tools. So the identities of all
// that is mounted are looked at before each command (marks).
//
// A .git file may come from anybody, so the folder that it names is writable only if it names the
// workspace itself.
package sandbox
