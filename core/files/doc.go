// Package files is the one way into a session's workspace.
//
// # Vocabulary
//
// A Workspace is the folders of a session, its roots, and the editor's texts of files in
// them. A Place is a resolved path: its name in the session, and its real path, with
// symbolic links resolved as far as it exists. It lies in a root, in the folder for cut
// output (reading only), or outside. A Handle is an open folder in which one call reads or
// replaces a file. Content is the text of a file, from the disk or from the editor. A Folder
// is an open folder whose entries are visited one by one. A Tree is a read-only folder in
// which links are followed, because guides are often links.
//
// Who reads and writes for an external agent calls Read and Write: texts exactly as they are,
// from the editor where it has them.
//
// # What holds
//
//   - Bytes of files are reached through an os.Root only: that of a workspace
//     root, or, for a place outside that was approved, one of its folder for the
//     length of the call. From there a real path is walked one name at a time,
//     and a name that has become a symbolic link since the place was found is
//     refused, even if it leads to a place inside. A Tree follows links, but refuses one
//     that leads out of it, and a file that was replaced after it was checked.
//   - Only regular files are opened. Pipes, sockets and devices are recognised
//     before, and one that appears in the meantime is opened without waiting.
//     /proc, /sys and /dev are always refused.
//   - A file changes as a whole (a temporary file, synced and renamed) and only when
//     its content is still the one that it was compared with.
//   - A root stays the folder that it was when it was first opened. Replacing it by a
//     link later does not move the workspace.
//   - A refusal of the editor is final. The disk is used only if the editor cannot serve
//     the request (ide.Lacks), and the result says so. Unsaved text of the editor is never
//     overwritten on the disk.
//   - An editor's text is the disk's, or late, or unsaved (looks.go). One that the session has seen
//     on the disk or has written before (core.Texts) is late: the disk counts, and what is
//     written goes through the editor, so that its buffer follows. Every other text is unsaved
//     work. It counts while the disk has the text that it is based on. If that may have
//     changed, nothing is written, moved or removed.
//   - One table lists where programs keep keys and passwords (KeepsKeys, KeyFile), and one what
//     decides what runs later (ControlFile), by names alone.
//   - This package decides nothing: its callers have asked policy about each place.
//     Place.Outside marks places outside of the roots.
//
// # Locks
//
// A Workspace has one mutex, for its maps of roots and versions, and each Root has one
// for its handle. Neither is held across any call.
//
// # Why
//
// ".." is removed from paths before links are resolved, as editors do, and from then on
// only the resolved path is used: the path that is approved is the path that is opened.
//
// An editor's unsaved text takes precedence over the disk. An editor that does not answer
// is not bypassed, because it may have such a text. Editors keep a text that they have loaded, and some
// notice late, or never, that a command has changed the file: that text is no unsaved work.
//
// Undo needs no approval, because a person requests it. Its changes come from a log, so it
// is limited to the roots, and to files that are exactly as the last change left them. A
// moved file is recognised by its checksum, because a move leaves no text in the log.
package files
