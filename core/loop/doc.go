// Package loop is the built-in back end: it asks a language model, runs the
// tools that the model calls, and asks again until the model stops.
//
// # Vocabulary
//
// An answer is the result of one request to the model: text, thoughts and calls. A round
// is one request, its answer and the calls of that answer. The history is the session's
// log folded into messages for a model. A stretch is successive text, or successive
// reasoning, of one answer. A summary replaces the conversation before it for the model;
// users still see all of it. A step is an answer with calls and their results; it is unseen
// until the model's next answer. An excerpt is what the model gets of a result or a message that
// has no room as a whole.
//
// # What always holds
//
//   - The history is made from the log, so it is the same after a restart, a fork or a
//     truncation. A conversation reads each record once: it keeps its place in the
//     log, and starts again only after a truncation. The log does not record one fact:
//     whether the model had already been asked when the user added a message. The
//     running turn knows it; when the log is read again, such a message precedes the
//     answer that it interrupted if no part of that had arrived.
//   - Every call in a request has exactly one result, and the results follow the
//     calls in the same order. Calls that failed before their arguments were
//     complete are left out.
//   - The same log gives the same messages, however its runs are split.
//   - An answer is never held as a whole while it streams. Its text in the
//     history is cut in the middle at 256 KiB, and so is each text of a result.
//   - What the service of a model has refused is recorded with the notice that names it, and is left
//     out of all later requests to that model: after a restart, too, and in a copy of the session.
//   - The order and the names of the tools depend on the tools alone; the system
//     prompt has no date. Each request begins with the previous one, so that services
//     can cache it; only a summary breaks that.
//   - A request fits the model's window. What is unseen has the room that is left, the newest
//     most of it: an excerpt of it is made once, before the first request that has it, and recorded
//     (Shortened). Every later request has the same excerpt.
//   - A summary covers everything except the user's messages in the running turn and, if it is
//     automatic, the unseen step. There are no two automatic summaries without an answer in
//     between. Without a summary the history is unchanged.
//   - A turn is summarized at most twice while the model only repeats calls of that turn. Then the
//     user is asked whether it goes on.
//   - With limits the model is asked through one that holds what each request takes, also for a
//     summary and for a model that answers in place of another one.
//   - A tool that was not offered is not run, even if others can use it.
//   - A question that waits for the next message is the last event of a turn: the
//     model is not asked again, and later calls in the answer do not run.
//   - A tool's name for the model is looked up to find the tool, never taken
//     apart.
//   - A model with more tools than its limit searches for the tools of servers. Its
//     calls then appear to the log, the policy and people as calls of the tool itself.
//     A conversation that searches continues to do so, because services cache requests
//     from their beginning, which is the list of tools.
//   - Instructions of a folder follow the results of the call that used a file there.
//
// # Locks and goroutines
//
// There is no lock: a conversation runs one turn at a time. The only goroutines
// are the parallel calls of one answer; Run waits for them before it continues.
//
// # Why
//
// Calls of one answer run concurrently only if none of them has an effect; otherwise
// in the model's order, one after the other, because a model that writes a file and
// then runs the tests means that order. A turn that ended without an answer leaves a
// short note in its place: after two messages of the user in a row, a model would
// answer the one that was cancelled.
//
// A turn that the model refused is left out of the history, and stays in the log. A
// Truncated after it would hide its end from every reader that has not reached it: the
// client that prompted would wait for ever, and people would see their message
// disappear together with the refusal. A client whose protocol requires a truncation
// can truncate when it has read the end.
//
// The request for a summary has its own short system prompt and no tools, and shows
// calls as text: services refuse calls in a history without tools, and a model that is
// offered tools calls them instead of writing the summary. Reverted files are mentioned
// to the model at that point of the history, because it would believe a history that
// still shows the changes.
//
// A call through call_tool is proposed when its arguments are complete, because only
// they contain the tool's name; in the history it is a call of that tool by its name.
// The model may use that name the next time, or call_tool again.
//
// A step is not summarized before the model has seen it: it would read the same again, for ever.
// It is cut rather than what is before it summarized, as long as it gets a quarter of the window, because
// a summary loses what it leaves out, and an excerpt says how to read the rest.
//
// The size of a request is the provider's count for the last one, plus a quarter of
// the bytes that were added since: a result can be larger than the remaining room, and
// a request that is too long costs a whole answer.
package loop
