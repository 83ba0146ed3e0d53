// Package codec writes and reads the stored form of events: the lines of a log, and
// lists of blocks.
//
// The stored form of a record is one JSON object on one line:
//
//	{"e":1,"s":7,"o":120,"t":"2026-01-02T15:04:05.123Z","k":"text","v":{"id":"m1","text":"hello"}}
//
// e, s and o are its place (o is left out when 0), t its time, k the kind of
// event, and v, always the last member, the event. Readers ignore members that
// they do not know, so a store may add its own behind v. A text that is not
// UTF-8 is stored with U+FFFD in place of what is wrong; an empty list and none
// are the same. JSON that others wrote (arguments, results, state) is kept byte
// for byte: if it is not one line of valid JSON, its text stands in a string
// under the member's name with a tilde.
//
// A call is written whole but for what it shares with its last record: the
// member "same" names the big fields that are as they were. So an Encoder that
// knows nothing of a log writes a correct, only longer, continuation of it.
//
// A stored form never changes: the words for kinds of events and types of blocks stay,
// and what this version does not know is kept as it is (core.Unknown, ForeignBlock).
// Where the lines are, and how they are made durable, is the store's business.
package codec
