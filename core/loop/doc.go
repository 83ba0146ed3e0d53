// Package loop is the built-in back end: it asks a language model, runs the
// tools that the model calls, and asks again until the model stops.
//
// # Vocabulary
//
// An answer is what one request to the model brought: text, thoughts and calls.
// A round is one request, its answer and the calls of that answer. The history
// is the session's log folded into messages for a model. A stretch is successive
// text, or successive reasoning, of one answer. A summary takes the place of the
// conversation in front of it, for the model; the users go on to see all of it.
//
// # What always holds
//
//   - The history is made from the log, so it is the same after a restart, a fork
//     or a truncation. A conversation reads each record once: it keeps its place
//     in the log, and begins again only after a truncation. One thing the log does
//     not say: whether the model had already been asked when the user said
//     something more. The running turn knows; read again, such a message stands
//     in front of the answer that it interrupted if none of that had come yet.
//   - Every call in a request has exactly one result, and the results stand in
//     the order of the calls, right behind them. Calls that a failure cut short,
//     before their arguments were there, are left out.
//   - The same log gives the same messages in whatever pieces its runs come.
//   - An answer is never held as a whole while it streams. Its text in the
//     history is cut in the middle at 256 KiB, and so is each text of a result.
//   - The order and the names of the tools depend on the tools alone; the system
//     prompt holds no date. What was sent once stays a prefix of what is sent
//     next, so that services can cache it; only a summary begins anew.
//   - A summary leaves what the user said in the running turn as it was, and covers
//     the rest. Nothing is summed up by itself twice without an answer in between.
//     Without a summary the history is as it was.
//   - A tool that was not offered is not run, also if it is there for others.
//   - A question that waits for the next message is the last that a turn says: the
//     model is not asked again, and calls that stand behind it in the answer do not run.
//   - A tool's name for the model is looked up to find the tool, never taken
//     apart.
//   - With more tools than a model is to be shown it searches for those of servers.
//     What it calls then is, for the log, for policy and for people, the tool
//     itself. A conversation that searches goes on to: the tools that a model is
//     shown are the beginning of what services cache.
//
// # Locks and goroutines
//
// There is no lock: a conversation runs one turn at a time. The only goroutines
// are the parallel calls of one answer; Run waits for them before it goes on.
//
// # Why
//
// Calls of one answer run beside each other only when none of them has an
// effect; else in the model's order, one after the other, since a model that
// writes a file and then runs the tests means that order. A turn that ended
// without an answer leaves a short note in the assistant's place: two messages of
// the user in a row would make a model answer the one that was cancelled.
//
// A turn that the model refused is left out of the history, and stays in the log.
// A Truncated behind it would hide its end from every reader that had not come so
// far: who prompted it would wait for ever, and people would see their words vanish
// together with the refusal. A client whose protocol wants it hidden there too can
// truncate when it has read the end.
//
// The request for a summary has its own short system prompt and no tools, and shows
// calls as text: services refuse calls in a history without tools, and a model that
// is offered some makes calls instead of the summary. What is undone in files is
// told to the model where it happened, since a history that still shows the changes
// would be believed.
//
// A call through call_tool is proposed when its arguments are whole, since only they
// say which tool it is; and in the history it is a call of that tool by its name. A
// model that calls it by name the next time is right, and one that goes on through
// call_tool as well.
//
// How much a request fills is what the provider counted for the last one, and a
// quarter of the bytes that came since: a result can be larger than the room that
// is left, and a request that is too long costs a whole answer.
package loop
