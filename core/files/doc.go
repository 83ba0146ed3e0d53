// Package files is the one way into a session's workspace.
//
// # Vocabulary
//
// A Workspace is the folders of a session, its roots, and the texts that its editor
// has of files in them. A Place is where a path leads: its name as the session knows
// it, and its real path, with symbolic links resolved as far as it exists. It lies in
// a root, in the folder for cut output (reading only), or outside. A Handle is a
// folder, held open, in which one call reads or replaces a file. Content is the text
// of a file, as it was seen on the disk or in the editor. A Folder is held open for those
// who go through what is in it. A Tree is a folder for those who only read, and in which
// links are followed: guides are kept as links.
//
// # What holds
//
//   - Bytes of files are reached through an os.Root only: that of a workspace
//     root, or, for a place outside that was approved, one of its folder for the
//     length of the call. From there a real path is walked one name at a time,
//     and a name that has become a symbolic link since the place was found is
//     refused, also where it stays inside. A Tree follows links, and refuses one that
//     leads out of it, and a file other than the one that was looked at.
//   - Only regular files are opened. Pipes, sockets and devices are recognised
//     before, and what is swapped for one meanwhile is opened without waiting.
//     /proc, /sys and /dev are refused, whoever approved.
//   - A file changes as a whole (a temporary file, synced and renamed) and only when
//     its content is still the one that it was compared with.
//   - A root is the folder that it was when it was first seen. Who replaces it by a
//     link later does not move the workspace.
//   - What an editor refuses is not done here either. The disk takes its place only if
//     it does not have what it is asked for (ide.Lacks), and the result says so.
//     A text that only the editor has is never overwritten on the disk.
//   - Where programs keep keys and passwords is known in one place (KeepsKeys, KeyFile), by
//     names alone.
//   - Nothing is decided here: whoever reaches a place has asked policy about it. What
//     is outside of the roots says so (Place.Outside).
//
// # Locks
//
// A Workspace has one mutex, for its maps of roots and versions, and each Root has one
// for its handle. Neither is held across any call.
//
// # Why
//
// Paths are cut at ".." before links are resolved, as editors do, and then only
// the resolved path is used: what is approved cannot differ from what is
// opened, whichever reading the writer of the path had in mind.
//
// An editor's unsaved text wins over the disk. An editor that does not answer is not
// passed over: it may have such a text.
//
// Undo does not ask whether it may: a person has asked for it. It is handed
// changes that a log tells of, so it keeps to the roots, and to files that are
// exactly what the last change left. What was moved is known again by its sum, for
// a move leaves no text of it in the log.
package files
