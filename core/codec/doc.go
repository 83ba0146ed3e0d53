// Package codec writes and reads the stored form of events: the lines of a log, and
// lists of blocks.
//
// The stored form of a record is one JSON object on one line:
//
//	{"e":1,"s":7,"o":120,"t":"2026-01-02T15:04:05.123Z","k":"text","v":{"id":"m1","text":"hello"}}
//
// e, s and o are its place (o is left out when 0), t its time, k the kind of event,
// and v, always the last member, the event. Readers ignore unknown members, so a store
// may add its own after v. Invalid UTF-8 in a text is stored as U+FFFD; an empty list
// and no list are the same, except for a turn's standing context. JSON of other programs (arguments, results, state) is kept
// byte for byte: if it is not one line of valid JSON, its text is stored in a string
// under the member's name with a tilde.
//
// A call is written in full, except for large fields that are equal in its last
// record: the member "same" has their names. So an Encoder that knows nothing of a log
// writes a correct, only longer, continuation of it.
//
// A stored form never changes: the names of kinds of events and types of blocks stay,
// and data that this version does not know is kept unchanged (core.Unknown,
// ForeignBlock). The store decides where the lines are, and makes them durable.
package codec
