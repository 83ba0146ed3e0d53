// Package kept keeps what people have allowed for good.
//
// A person who is asked about a call may allow it, and what its scope covers, "always". The answer
// becomes a [Rule] in a file, policy.json beside mcp.json, and the configuration is never changed. A
// [Policy] puts such rules in front of another policy.
//
// # What holds
//
//   - A rule covers exactly what an answer for the session would: its key is the policy's.
//     So "always" is never offered where a session's answer could not be kept, nor for hard asks.
//   - A rule counts only in sessions of the same folders, links resolved, for the agent whose
//     call was allowed, and for clients of the same principal. A task that this agent hands over, and
//     the agent that handed it a task, are asked about on their own.
//   - It is an allow rule and no more: deny rules, hard asks and rejections come first, and so does
//     what a turn's origin narrows.
//   - A file that cannot be read allows nothing, and is not written to.
//   - A rule that is forgotten counts no more from the next call on, in every process.
package kept
