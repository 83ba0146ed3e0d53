// Package llm is where answers come from: language models that are reached over
// the network, and the offline demo, which is none and says so.
//
// remote.go is a model behind a network: requests, tries, the reading of a stream.
// answer.go puts an answer together. What differs between services is a wire: two
// files each, one for what is sent and one for what comes (chat, responses,
// messages, ollama).
//
// # Vocabulary
//
// A Provider is a service that serves models; its Kind names the wire format
// that is spoken with it. A Registry turns "PROVIDER/MODEL" into a core.Model. A
// try is one HTTP request; an answer may take several of them, but only until
// its first delta. An event is one server-sent event; a delta is what core gets.
//
// # What always holds
//
//   - An answer ends with exactly one terminal: a DeltaStop, or an error. When
//     the context has ended the error is the context's, whatever else happened.
//   - An answer is whole only with the end that its wire format has: a
//     finish_reason and then [DONE] or a clean end of the stream (openai-chat),
//     response.completed (openai-responses), message_stop (anthropic), done
//     (ollama). Anything else is a *core.ModelError of kind ErrTruncated; what was
//     streamed until then was yielded before.
//   - Arguments of a call reach core whole in DeltaToolEnd. What is not a JSON
//     object is there as Bad: the model's mistake, not ours.
//   - core.Usage.In counts the whole prompt, what was read from a cache included;
//     Out counts the whole answer, reasoning included.
//   - A call's id is unique within the session's history as the request shows
//     it: ids that are missing or were used before are replaced.
//   - Whether a try is repeated is decided in one place (stream in remote.go), and
//     only while nothing of the answer was yielded.
//   - No error text holds a key or the value of a configured header.
//
// # Locks and goroutines
//
// There is no lock: a Registry and its models are immutable, apart from one
// atomic flag per provider. Stream starts no goroutine; it reads in its caller's.
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
// What a provider wants to see again travels in core.Thought.Sealed: the
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
