// Package bundle writes a stored session with everything that belongs to it into one file, and reads
// such a file back, possibly on another machine and from somebody else.
//
// # The file
//
// It is gzip of lines. The first character of a line says what it is:
//
//	h {"format":"dragoman session","version":1,"by":"dragoman 1.2.0","made":"2026-01-02T15:04:05Z","sessions":["7xk2","b3ma"]}
//	s "7xk2"
//	r {"e":1,"s":1,"t":"2026-01-02T15:04:05.123Z","k":"opened","v":{…}}
//	f {"name":"c1-1.txt","size":2097152}
//	s "b3ma"
//	…
//	e "SHA-256 of everything before this line, in hexadecimal digits"
//
// h comes first and lists the sessions: the exported one, then those of its tasks, each behind the one
// that delegated it. s begins a session, r is a record as package codec writes it, with its body in
// full, and f is cut tool output (core.Spills): its content follows, and a line end. No name in the
// file is a path. So there are no links, devices or folders in it, and nothing is ever created under a
// name of its choice but cut output, whose names core.CheckSpill bounds.
//
// Write reads each log up to where it is whole at that time. It takes no claim, so another process may
// own the session and write to it. Records are decoded and written again: the file has neither the
// records of stale owners nor damage; a core.Missing stands where something is missing. Write and Read
// need memory for one record at a time.
//
// # What Read checks
//
// The format and its version; that every record follows the one before it and has an event that a log
// may have; that the sessions are those of the first line, in its order, and that each task belongs to
// a session before it; names and sizes of cut output; the length of lines, of the whole and of what is
// open at once, so that a small file cannot become a large one; the checksum; that nothing follows it.
// The checksum finds damage, not forgery: whoever writes a file can write its checksum. So nothing in it
// is trusted.
//
// # What Read leaves out
//
// The log of a file shows what was said and done. It grants nothing here, and names nothing that is
// outside of it.
//
//   - The principal of sessions, prompts and answers becomes that of the import. Programs that have prompted or
//     answered get another name (core.Caller), which no client has: else one of ours that has the same
//     would be one that has prompted there.
//   - Answers count as answers and are not remembered (core.Reply.Remember), whether for the session or
//     "always"; asks that are open are closed like the open turn, and cannot be answered.
//   - Settings at the end are the default ones: trust and the options of an external agent, such as its
//     mode of permissions, are rights, and the name of an agent chooses those that this agent has here.
//   - What external agents need to find their side (core.Bound), and that a session is one of an agent
//     (core.Meta.From): the agent here has no such session, or somebody else's. It is briefed from the log.
//   - What an agent offers (core.Offered), its wish for a login, and its protocol's messages
//     (core.Foreign): clients would get them unchanged. Their text stays.
//   - Changes of files are shown, but no longer undone (core.Diff.Shown): a file could claim any change,
//     and undoing that would write whatever it likes.
//   - Terminals, which were those of an editor, and sealed thoughts, which only the provider's account
//     could open.
//   - Keys of prompts, which would answer a prompt that a client sends here.
//   - Events of a later version, which nobody can check: a notice takes their place.
//   - The parent of the exported session, if it was a task. Sessions that a record names (the one that
//     does a task, one that the user went on in) are those of the file, or none.
//   - Times in the future become the time of the import. That counts as the last use.
//
// The folders of the session are the user's to choose: they must be absolute and plain (Folders). So the
// caller shows them, or replaces them.
//
// # Why
//
// Lines, and no archive of the store's files: an archive has paths, links and modes to be refused, and
// needs sizes in front, which a log that grows does not have. Records, and not the log's bytes: what is
// read is decoded, changed as above and written again by the encoder of this version, so no byte of a
// foreign log gets into a log here.
package bundle
