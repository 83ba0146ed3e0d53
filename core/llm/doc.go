// Package llm is where answers come from: the language models that are reached over
// the network. The offline demo, which is none, is in package offline.
//
// remote.go is a model behind a network: requests, tries, the reading of a stream.
// answer.go puts an answer together. What differs between services is a wire: two
// files each, one for what is sent and one for what comes (chat, responses,
// messages, ollama). past.go keeps what was encoded of a history, gate.go lets
// requests through, adapt.go gives up what a service refuses of them. What is no
// network's model: chain (langchaingo), replay, sampling (an MCP client's).
//
// # Vocabulary
//
// A Provider is a service that serves models; its Kind names the wire format
// that is spoken with it. A Registry turns "PROVIDER/MODEL" into a inference.Model. A
// try is one HTTP request; an answer may take several of them, but only until
// its first delta. A trait is something of a request that not every model takes.
// A stretch is a piece of a history, which parts where its two sides are encoded
// apart from each other. An event is one server-sent event; a delta is what core gets.
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
//   - Arguments of a call reach core whole in DeltaToolEnd. What is not a JSON
//     object is there as Bad: the model's mistake, not ours.
//   - core.Usage.In counts the whole prompt, what was read from a cache included;
//     Out counts the whole answer, reasoning included.
//   - A call's id is unique within the session's history as the request shows
//     it: ids that are missing or were used before are replaced.
//   - Whether a try is repeated is decided in one place (tries in remote.go), and
//     only while nothing of the answer was yielded.
//   - No error text holds a key or the value of a configured header. Both are
//     looked up at each request, which may run a program.
//   - A request that has to wait, for its provider's limits or before another try,
//     says so with a DeltaRetry first, and ends at once with its context.
//   - What a service refuses of a request by name is given up for that model, once;
//     that is no try.
//   - A session's tools and history are sent in the order in which they came, and
//     what was sent once begins every later request, so that caches of prompts hit.
//     What was encoded is not encoded again.
//
// # Locks and goroutines
//
// A Registry and its models are immutable, apart from what a provider has learned:
// a gate's window and the times that the service named, the traits that were refused,
// what was encoded of sessions (each behind a lock of its own, which is held for
// no more than that), and what replay and record have counted. A Registry that replaces
// another shares these with it, but for what was encoded. While somebody encodes
// a session's history it is in nobody else's hands; who comes meanwhile begins anew.
// Stream starts no goroutine; it reads in its caller's. A slot of the gate is held
// for one try, never while waiting for the next.
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
// Most events of a chat's answer say no more than a piece of text, of a thought or of a
// call: they are skimmed (chat_skim.go), which takes a quarter of the time, for
// encoding/json was nine tenths of it. Whatever could be read in two ways, such as a name
// that comes twice or in other letters, is left to encoding/json, and a fuzz test holds
// the two against each other. To compare events with the one before was faster still,
// until a service put something new into each.
//
// A history is kept as it was encoded, rather than hashed or counted: comparing its
// messages with those of the request before is exact, and where they are the same in
// memory, as most are, takes some nanoseconds each.
//
// The system's keyring has no library here: see the reference ${cmd:…} of the
// configuration, which runs the system's own program for it within a bound of time.
//
// What a provider wants to see again travels in inference.Thought.Sealed: the
// name of the field in which reasoning came (DeepSeek refuses a request whose
// history lacks it), a call's extra_content (Gemini's thought signatures), a
// thought's signature or what stands for it (Anthropic), the whole item of reasoning
// (OpenAI's responses). All carry the model's name, and no other model is shown
// them.
//
// Anthropic's cache is told where to keep what it has read: behind the tools, the
// system prompt, and the last two messages of the user. The next request finds the
// second of these where it was the first.
package llm
