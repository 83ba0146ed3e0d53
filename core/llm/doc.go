// Package llm contains the language models that are reached over the network. The offline
// demo model is in package offline.
//
// remote.go is a model on the network: requests, tries, reading a stream. answer.go
// assembles an answer. A wire is the part that differs between services: two files each,
// one for requests and one for answers (chat, responses, messages, ollama). past.go caches
// encoded histories, picture.go encodes pictures while they are sent, gate.go limits the rate of requests, adapt.go drops features that a
// service refuses, and leave.go parts of the conversation that it refuses. toolform.go puts tools
// into the form that a family of models accepts (schema.go, fold.go, subset.go). Other models: chain (langchaingo), replay, sampling (an MCP client's).
//
// # Vocabulary
//
// A Provider is a service that offers models; its Kind names its wire format. A
// Registry turns "PROVIDER/MODEL" into an inference.Model. A try is one HTTP request;
// an answer may take several of them, but only until its first delta. A trait is a
// feature of a request that not every model accepts. A stretch is a piece of a
// history; a history can be cut between two stretches that are encoded independently.
// An event is one server-sent event; a delta is a piece of an answer for core, of one event or
// of several that came together.
//
// # What always holds
//
//   - An answer ends with exactly one terminal: a DeltaStop, or an error. If the
//     context has ended the error is the context's, even if something else failed too.
//   - An answer is complete only with the end that its wire format defines: a
//     finish_reason and then [DONE] or a clean end of the stream (openai-chat),
//     response.completed (openai-responses), message_stop (anthropic), done (ollama).
//     Any other end is an *inference.Error of kind ErrTruncated, after the deltas so
//     far.
//   - Arguments of a call reach core complete, in DeltaToolEnd. Arguments that are not
//     a JSON object are in Bad: the model's mistake, not ours.
//   - core.Usage.In counts the whole prompt, including the cached part; Out counts the
//     whole answer, including reasoning.
//   - A call's id is unique within the session's history in the request: missing ids
//     and duplicates are replaced.
//   - A try is repeated only by one function (tries in remote.go), and only before the
//     first delta of the answer.
//   - No error text contains a key or the value of a configured header. Both are
//     looked up for each request, which may run a program.
//   - A request that has to wait, for its provider's limits or before another try,
//     yields a DeltaRetry first, and ends at once with its context.
//   - A feature that a service refuses by name is dropped for that model, once; that
//     does not count as a try.
//   - A tool is sent without anything that its family's published rules refuse, and one that breaks no rule
//     as it is written. Calls have the tool's own names, and are checked against its own schema
//     if that was folded.
//   - A picture, tool or sealed thought that a service refuses is left out of the request, which is
//     repeated. It is named in a DeltaRefused, before the first word, once the service has accepted
//     the rest. The caller leaves it out of later requests to that model (Request.Refused).
//   - A session's tools and history are sent in their original order, and every
//     request begins with the previous one, so that prompt caches hit. Nothing is
//     encoded twice, except for pictures: of those no encoded form is kept.
//
// # Locks and goroutines
//
// A Registry and its models are immutable, except for the experience of a provider: a
// gate's window and the times given by the service, the refused traits, the encoded
// histories (each behind a lock of its own, held only for the access), and the
// counters of replay and record. A Registry that replaces another shares these with
// it, except for the encoded histories. One goroutine at a time encodes a session's
// history; another one that needs it meanwhile makes its own encoding. Stream starts
// no goroutine; it reads in its caller's. A slot of the gate is held for one try,
// never while waiting for the next. The connections belong to the one http.Transport
// of a Registry, which is made at the first request; Registry.Close closes idle ones.
// Time is time.Now and timers, so tests run in a testing/synctest bubble.
//
// # Why
//
// Our own codec rather than a library: no library that was tried notices a stream that
// ends cleanly in the middle, several report a cancelled answer as a success, one
// mixes the arguments of interleaved calls, and the most complete one adds 21 MB to
// the binary.
//
// Most events of a chat's answer contain only a piece of text, of a thought or of a
// call. They are skimmed (chat_skim.go), which takes a quarter of the time, because
// encoding/json took nine tenths of it. Ambiguous events, such as those with a
// duplicate name or a name in another case, are left to encoding/json, and a fuzz test
// compares the two. An event that differs from the previous one in its text alone is not even
// skimmed (chat_shape.go), except with services that put a new value into each.
//
// Pieces of a text that one read of the connection has brought are yielded as one delta, right
// before the next read, which may wait. A delta costs a lock, a record and a message to the
// client; a piece costs a tenth of that.
//
// A history is cached in its encoded form, rather than hashed or counted: comparing
// its messages with those of the previous request is exact, and takes a few
// nanoseconds for each message that is the same in memory, which most are.
//
// The system keyring has no library here: the reference ${cmd:…} of the configuration runs
// the system's own program for it, with a time limit.
//
// Data that a provider expects back travels in inference.Thought.Sealed: the name of
// reasoning's field (DeepSeek refuses a request whose history lacks it), a call's
// extra_content (Gemini's thought signatures), a thought's signature or its
// replacement (Anthropic), the whole item of reasoning (OpenAI's responses). All of it
// carries the model's name, and is sent to no other model.
//
// Anthropic's cache gets marks after the tools, the system prompt, and the last two
// messages of the user. The next request finds the second of these in the place of the
// first.
package llm
