package core

import "dragoman/core/internal/memlog"

// log is the part of a session's log that is in memory. All its methods need the session's lock.
type log = memlog.Log[Event, stream, Record, Pos]

var logEvents = memlog.Events[Event, stream, Record, Pos]{
	Run: runOf, Delta: stream.delta, Size: eventSize, Span: Record.span, From: Record.from, Hides: hides,
}

func newLog() log { return memlog.New(&logEvents) }

// hides returns the position behind which an event hides all records; ok is false if it hides none.
func hides(ev Event) (after Pos, ok bool) {
	t, ok := ev.(Truncated)
	return t.After, ok
}

// A run is a sequence of deltas of one stream. It is one record that grows.

// stream names the stream that a delta belongs to; the zero value: not a delta.
type stream struct {
	kind byte // 't'ext, 'h' thought, 'a'rgs, 'o'utput
	id   string
}

// runOf returns the stream and the text of a delta; ok is false for other events.
func runOf(e Event) (s stream, text string, ok bool) {
	if !is(e, run) {
		return stream{}, "", false
	}
	switch e := any(e).(type) {
	case TextDelta:
		return stream{'t', string(e.Message)}, e.Text, true
	case ThoughtDelta:
		return stream{'h', string(e.Thought)}, e.Text, true
	case CallArgs:
		return stream{'a', string(e.Call)}, e.Text, true
	case CallOutput:
		return stream{'o', string(e.Call)}, e.Text, true
	}
	return stream{}, "", false
}

// delta is the inverse of runOf.
func (s stream) delta(text string) Event {
	switch s.kind {
	case 't':
		return TextDelta{MessageID(s.id), text}
	case 'h':
		return ThoughtDelta{ThoughtID(s.id), text}
	case 'a':
		return CallArgs{CallID(s.id), text}
	default:
		return CallOutput{CallID(s.id), text}
	}
}
