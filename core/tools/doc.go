// Package tools is the native tools of a session, as a core.Toolbox.
//
// They are files, search, the shell and what it runs in the background, pages of the
// web, what an editor knows, the plan, questions to the user and tasks for other
// agents. What reads and searches for the model also does for people who refer to
// files in a prompt: see Files.
//
// # Vocabulary
//
// A place is that of core/files: where a path argument leads.
// A step is what one call is going to do, worked out by Preview and carried out
// by Run: what was approved is what runs, and nothing is worked out twice.
// A job is a command that runs behind its session, on the board. A visit is a
// command in a terminal of the editor's.
//
// # Invariants
//
//   - Files are reached through core/files alone, whose rules hold here: what Preview
//     saw is what Run opens, or the call fails.
//   - Before a call outside of the roots is approved, no error that Preview
//     returns depends on what is there: the model would read it.
//   - A file changes only when its content is still the one that Preview compared with.
//   - Text for approval shows every character that could hide: see visible.go.
//   - A command runs in a session of its own without a terminal; when Run
//     returns, or soon after we are killed, no process of that session is left.
//   - A command runs once. Where an editor may have run it in its terminal, it is
//     not run here as well, whatever became of it there.
//   - What an editor refuses is not done here either. A shell of our own takes its place
//     only if it does not have a terminal (ide.Lacks), and the result says so.
//   - A job belongs to one toolset: no other one lists, reads or ends it, and when
//     Close returns it has ended, and its output is gone. While the session rests the
//     output of jobs that have ended is in a file of the session's folder.
//   - What a rule forbids to read is left out of every search and listing.
//   - What a user refers to is read without asking, so it is judged more strictly:
//     what a rule denies is not read, nor is a place outside of the roots where
//     programs keep keys.
//
// # Locks and goroutines
//
// A toolset has one mutex, for its map of steps; it is not held across any call.
// Goroutines live within one Run: grep's workers, and for a command the one that starts
// and waits, those that read and those that hand out; Run waits for them all. A job has
// one of its own, around those of its command; Close waits for it. The list of jobs has
// a mutex, and each job has one; neither is held while the other is taken, or across
// reading and writing a file.
//
// # Why
//
// Ignore files are translated into doublestar patterns, and a test compares the
// outcome with git's own. The two libraries that were tried (go-gitignore by
// sabhiram, go-git's) both differ from git in simple cases such as [!a]; the
// first has not changed since 2021, the second brings 37 lines of checksums.
//
// An editor's unsaved text wins over the disk for read_file, write_file and
// edit_file; searching looks at the disk alone, since no protocol lets us
// search an editor's buffers.
//
// The environment of an editor's terminal is the editor's: secrets in it are the
// user's own business there. Ours is not passed on.
//
// How a command is ended, also when we are killed, and what that does not cover, is
// core/child's.
package tools
