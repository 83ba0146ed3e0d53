// Package llm contains the language models that are reached over the network. The offline
// demo model is in package offline.
//
// remote.go is a model on the network: requests, tries, reading a stream. answer.go
// assembles an answer. A wire is the part that differs between services: two files each,
// one for requests and one for answers (chat, responses, messages, ollama). past.go caches
// encoded histories, gate.go limits the rate of requests, and adapt.go drops features that a
// service refuses. Other models: chain (langchaingo), replay, sampling (an MCP client's).
//
// # Vocabulary
//
// A Provider is a service that serves models; its Kind names the wire format
// that is spoken with it. A Registry turns "PROVIDER/MODEL" into an inference.Model. A
// try is one HTTP request; an answer may take several of them, but only until
// its first delta. A trait is a feature of a request that not every model accepts.
// A stretch is a piece of a history, which parts where its two sides are encoded
// independently. An event is one server-sent event; a delta is the piece that core gets.
//
// # What always holds
//
//   - An answer ends with exactly one terminal: a DeltaStop, or an error. When
//     the context has ended the error is the context's, whatever else happened.
//   - An answer is whole only with the end that its wire format has: a
//     finish_reason and then [DONE] or a clean end of the stream (openai-chat),
//     response.completed (openai-responses), message_stop (anthropic), done
//     (ollama). Anything else is a *inference.Error of kind ErrTruncated; what was
//     streamed until then was yielded before.
//   - Arguments of a call reach core whole in DeltaToolEnd. Arguments that are not a
//     JSON object are in Bad: the model's mistake, not ours.
//   - core.Usage.In counts the whole prompt, including the cached part; Out counts the
//     whole answer, including reasoning.
//   - A call's id is unique within the session's history as the request shows
//     it: ids that are missing or were used before are replaced.
//   - Whether a try is repeated is decided in one place (tries in remote.go), and
//     only while nothing of the answer was yielded.
//   - No error text contains a key or the value of a configured header. Both are
//     looked up at each request, which may run a program.
//   - A request that has to wait, for its provider's limits or before another try,
//     yields a DeltaRetry first, and ends at once with its context.
//   - A feature that a service refuses by name is dropped for that model, once; that
//     does not count as a try.
//   - A session's tools and history are sent in the order in which they came, and every
//     request begins with the one before, so that prompt caches hit. Nothing is encoded
//     twice.
//
// # Locks and goroutines
//
// A Registry and its models are immutable, except for the experience of a provider: a
// gate's window and the times that the service named, the refused traits, the encoded
// histories (each behind a lock of its own, held only for the access), and the counters of
// replay and record. A Registry that replaces another shares these with it, except for the
// encoded histories. One goroutine at a time encodes a session's history; another one that
// needs it meanwhile encodes its own. Stream starts no goroutine; it reads in its caller's.
// A slot of the gate is held for one try, never while waiting for the next.
// The connections belong to the one http.Transport of a Registry, which is made
// at the first request; Registry.Close ends those that are idle. Time is
// time.Now and timers, so tests run in a testing/synctest bubble.
//
// # Why
//
// Our own codec rather than a library: of those that were measured none notices
// a stream that ends cleanly in the middle, several report a cancelled answer as
// a success, one mixes the arguments of calls that arrive in turns, and the
// complete one adds 21 MB to the binary.
//
// Most events of a chat's answer contain only a piece of text, of a thought or of a call.
// They are skimmed (chat_skim.go), which takes a quarter of the time, because encoding/json
// took nine tenths of it. Ambiguous events, such as those with a duplicate name or a name in
// other letters, are left to encoding/json, and a fuzz test compares the two. Comparing each
// event with the one before was faster still, until a service put something new into each.
//
// A history is cached in its encoded form, rather than hashed or counted: comparing its
// messages with those of the request before is exact, and takes a few nanoseconds for each
// message that is the same in memory, as most are.
//
// The system keyring has no library here: the reference ${cmd:…} of the configuration runs
// the system's own program for it, with a time limit.
//
// Data that a provider expects back travels in inference.Thought.Sealed: the name of the
// field in which reasoning came (DeepSeek refuses a request whose history lacks it), a
// call's extra_content (Gemini's thought signatures), a thought's signature or its
// replacement (Anthropic), the whole item of reasoning (OpenAI's responses). All of them
// carry the model's name, and are sent to no other model.
//
// Anthropic's cache gets marks after the tools, the system prompt, and the last two messages
// of the user. The next request finds the second of these where the first one was.
package llm
