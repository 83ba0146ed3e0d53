// Package agenttest is an ACP agent (protocol version 1) that does what prompts tell it, for tests
// and demonstrations. It is a process of its own: a program whose environment has [Variable] calls
// [Run]. It shares no code with what it tests, not even the structures of the protocol.
//
// Each line of a prompt that begins with one of these words is an instruction; other lines are
// ignored. A prompt without any instruction is answered with a sentence about it. Paths may be
// relative to the session's folder. JSON objects may be left out. A line that reads or runs something
// may have another instruction behind the word "then"; the answers of all of them come at its end.
// Lines between <conversation> and </conversation> are no instructions: they quote what was said
// before.
//
//	say TEXT                 part of the answer, and a line break
//	think TEXT               part of a thought
//	stream N of M            N parts of M characters each, at once
//	late TEXT                part of the answer, sent after the prompt's response
//	background TEXT          part of the answer, sent again and again after the prompt's response
//	                         until session/cancel comes
//	rest MS                  a pause, after the prompt's response
//	update {…}, tool {…}     any session/update, any tool_call
//	after {…}                any session/update, sent after the prompt's response
//	notify METHOD {…}        any notification; its parameters get the session's id
//	request METHOD {…}       any request; says its result or error
//	permission {…}           session/request_permission: members of the tool call and "options";
//	                         "bare": true sends no tool_call first; says the outcome
//	background-permission {…}  the same, 100 ms after the prompt's response
//	end [STATUS]             ends the last tool call (default: completed); the prompt's end ends all
//	read PATH, write PATH TEXT   through the client (fs/*)
//	run COMMAND              in the client's terminal; says output and exit code
//	shown COMMAND            the same as a tool call with the terminal in it
//	create {…}               terminal/create with these parameters; says the terminal's id
//	edit PATH TEXT           writes a file itself, as a tool call with its diff
//	mcp TOOL {…}, mcp-tools  calls a tool of the session's MCP servers, or lists all
//	plan TEXT; TEXT, usage USED SIZE, title TEXT, commands NAME NAME
//	option ID [VALUE]        says an option's value, or changes it
//	mode ID                  changes the mode
//	subagent TEXT            a sub-agent that says TEXT
//	notice TEXT, compaction TEXT
//	heard                    says the prompt's content blocks as JSON
//	env NAME, environ, cwd, pid, servers, client   say what they name
//	fork-daemon SECONDS      starts a sleep that leaves the process group
//	wait                     until the turn is cancelled
//	after-cancel             waits until the turn is cancelled, and then goes on with the rest
//	ignore-cancel            from here on cancelling does nothing
//	expire                   ends the agent's login
//	page URL [used]          asks the client to open a page, also outside of a session (elicitation/create);
//	                         "used": says soon after that the user has been there (elicitation/complete)
//	crash, exit N, stderr TEXT, error CODE TEXT, stop REASON
//
// A hostile agent (hostile.go) also has:
//
//	flood N, garbage, wrong-id, duplicate, answer-nothing, silent, batch, big BYTES,
//	big-answer BYTES, huge-numbers, deep N, invalid-utf8, null-fields, unknown-kinds, wrong-session, late-requests, secrets,
//	harmless-title {…}, permission-flood N, stderr-flood BYTES, partial-line, stop-reading,
//	close-output, ignore-eof
//
// Options.Faults has such instructions for other methods.
package agenttest
