// Package thread serves the thread protocol, the form of the Agent Client Protocol in June 2025:
// the agent's side.
//
// It shares a stream with today's ACP: the first call shows which of the two a client speaks
// ([Speaks]). A thread is a session in the process's folder. The document's headings and its code
// disagree about which side calls which method, so all ten are answered; the methods that we call
// are those of its code.
//
// A user's message is a turn, answered with null when it has ended. The agent's text is sent as
// streamMessageChunk requests, in order, all acknowledged before that answer. Nobody can be
// asked: a call that needs an approval is rejected. Only the end of the connection cancels a
// turn. An entry has the text of its message in one chunk: the borders of chunks mean nothing.
//
// Files: server.go (the connection), thread.go (threads and their messages), feed.go (a turn's
// output), entries.go (the conversation so far, from the log), files.go and disk.go (the
// workspace, for the peer), editor.go (the peer's files, for us).
package thread
