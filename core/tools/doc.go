// Package tools has the native tools of a session, as a core.Toolbox.
//
// They are files, search, the shell and background jobs, web pages, the editor's
// knowledge, the plan, questions to the user and tasks for other agents. The code
// that reads and searches for the model also serves people who refer to files in a
// prompt: see Files.
//
// # Vocabulary
//
// A place is that of core/files: the destination of a path argument. A step is the
// plan of one call: Preview makes it and Run carries it out, so the approved plan is
// the one that runs, and nothing is computed twice. A job is a background command of
// its session, on the board. A visit is a command in a terminal of the editor.
//
// # Invariants
//
//   - Files are reached only through core/files, whose rules hold here: Run opens the
//     file that Preview saw, or the call fails.
//   - Before a call outside of the roots is approved, no error that Preview returns
//     depends on the content of that place, because the model reads the error.
//   - A file changes only if it still has the content that Preview compared.
//   - Text for approval shows every character that could hide: see visible.go.
//   - A command runs in a session of its own without a terminal; when Run returns, or
//     soon after we are killed, no process of that session is left.
//   - A command runs once. If an editor may have run it in its terminal, it is not
//     run here as well, whatever its outcome there.
//   - A request that an editor refuses is not carried out here either. Our own shell
//     replaces the editor's only if the editor has no terminal (ide.Lacks), and the
//     result says so.
//   - A job belongs to one toolset: no other one lists, reads or ends it. When Close
//     returns it has ended, and its output is gone. While the session rests, the
//     output of ended jobs is in a file in the session's folder.
//   - Files that a rule forbids to read are left out of every search and listing.
//   - References of a user are read without asking, so they are judged more strictly:
//     no files that a rule denies, and outside of the roots no places where programs
//     keep keys.
//
// # Locks and goroutines
//
// A toolset has one mutex, for its map of steps; it is not held across any call.
// Goroutines live within one Run: grep's workers, and for a command one that starts
// it and waits, those that read its output and those that pass it on; Run waits for
// them all. A job has one more, around those of its command; Close waits for it. The
// list of jobs has a mutex, and each job has one; neither is held while the other is
// taken, or across reading and writing a file.
//
// # Why
//
// Ignore files are translated into doublestar patterns, and a test compares the
// result with git's own. Two libraries were tried (go-gitignore by sabhiram, and
// go-git's). Both differ from git in simple cases such as [!a]; the first has not
// changed since 2021, the second adds 37 lines of checksums.
//
// An editor's unsaved text wins over the disk for read_file, write_file and
// edit_file, unless the disk was changed behind it (package files); searches read only
// the disk, because no protocol can search an editor's buffers.
//
// The environment of an editor's terminal is the editor's: secrets in it are the
// user's responsibility. Ours is not passed to it.
//
// For how a command is ended, even when we are killed, and the limits of that, see
// core/child.
package tools
