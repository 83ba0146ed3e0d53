// Package thread serves the thread protocol, which the Agent Client Protocol was in June 2025: the
// agent's side.
//
// It shares a stream with today's ACP: the first call shows which of the two a client speaks
// ([Speaks]). A thread is a session in the process's folder. The document's headings and its code
// disagree about who calls which method, so all ten are answered; which of them we call is what
// the code says.
//
// A message of the user's is a turn, answered with null when it has ended; the agent's words are
// streamMessageChunk requests, in order, all acknowledged before that answer. Nobody can be asked:
// what policy would ask for is rejected. There is no cancel but the end of the connection.
//
// Files: server.go (the connection), thread.go (threads and their messages), feed.go (what a turn
// says), entries.go (what was said, from the log), files.go and disk.go (the workspace, for the
// peer), editor.go (the peer's files, for us).
package thread
