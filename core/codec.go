package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

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

// Encoder writes one log's records. The zero value is ready; it may go on with
// a log that another one began. It is not safe for concurrent use.
type Encoder struct {
	calls map[CallID]Call // that live, as they were written last
}

// Append appends the stored form of r to dst, without a newline. It cannot
// fail: what JSON cannot say (a time in the year 12000, a cost of NaN) is left
// out.
func (e *Encoder) Append(dst []byte, r Record) []byte {
	dst = append(dst, `{"e":`...)
	dst = strconv.AppendUint(dst, r.Epoch, 10)
	dst = append(dst, `,"s":`...)
	dst = strconv.AppendUint(dst, r.Seq, 10)
	if r.Off > 0 {
		dst = append(dst, `,"o":`...)
		dst = strconv.AppendUint(dst, r.Off, 10)
	}
	dst = appendTimeMember(dst, "t", r.Time)
	dst = e.appendEvent(dst, r.Event)
	return append(dst, '}')
}

// Reset forgets all calls, after records were encoded that did not reach the
// log: what follows is written whole.
func (e *Encoder) Reset() { clear(e.calls) }

// Decoder reads one log's records, in the log's order. The zero value is ready.
// It is not safe for concurrent use.
type Decoder struct {
	calls   map[CallID]Call     // that live, as they were read last
	skipped map[CallID][][]byte // bodies of live calls' records that calls lacks
	id      string              // of the last delta, to be used again
}

var errNotRecord = errors.New("not a record")

// Decode reads a line that Append wrote. The record shares no memory with line.
// An event of an unknown kind, or one that makes no sense to this version, comes
// as Unknown; an error means that line is no record.
func (d *Decoder) Decode(line []byte) (Record, error) {
	l, err := ParseLine(line)
	if err != nil {
		return Record{}, err
	}
	return d.DecodeLine(l)
}

// DecodeLine is Decode for a line that was looked at before.
func (d *Decoder) DecodeLine(l Line) (Record, error) {
	r := l.record
	var err error
	if r.Event, err = d.event(l); err != nil {
		return Record{}, fmt.Errorf("record %d.%d: %w", r.Seq, r.Off, err)
	}
	return r, nil
}

// Skip stands for Decode where the record is not wanted, and costs less. It
// keeps what the records behind it may refer to.
func (d *Decoder) Skip(line []byte) error {
	l, err := Peek(line)
	switch {
	case err != nil:
		return err
	case string(l.kind) == kindTurnEnded, string(l.kind) == kindMissing:
		d.forget()
	case string(l.kind) == kindCall:
		if l, err = ParseLine(line); err != nil {
			return err
		}
		d.skipCall(l.body)
	}
	return nil
}

// forget drops all calls, since a turn has ended and its calls before it, or since records
// are missing that may belong to them.
func (d *Decoder) forget() {
	clear(d.calls)
	clear(d.skipped)
}

// Line is a record whose event is not decoded yet. It is a view of the bytes
// that it was made of.
type Line struct {
	record Record
	kind   []byte
	body   []byte // v
	text   []byte // v~
}

// Place is the record without its event.
func (l Line) Place() Record { return l.record }

// Kind is the word for the kind of the event.
func (l Line) Kind() string { return string(l.kind) }

// IsCall reports whether the event is a CallChanged, to which later ones may refer.
func (l Line) IsCall() bool { return string(l.kind) == kindCall }

// End returns the position behind the record, which ParseLine must have read.
func (l Line) End() Pos {
	if _, text, ok := l.delta(); ok {
		return Pos{l.record.Epoch, l.record.Seq, l.record.Off + uint64(stringLen(text))}
	}
	r := l.record
	if string(l.kind) == kindMissing {
		r.Event = plainEvent[Missing](l.body)
	}
	return r.End()
}

// AppendStream appends the name of the stream that the record is a piece of. It appends nothing
// if the record is no piece of a stream. ParseLine must have read the record.
func (l Line) AppendStream(dst []byte) []byte {
	id, _, ok := l.delta()
	if !ok {
		return dst
	}
	return append(append(dst, streamKind(string(l.kind))), id...)
}

// StreamDelta makes a piece of a stream that AppendStream has named.
func StreamDelta(name []byte, text string) Event {
	return deltaEvent(name[0], parseString(name[1:]), text)
}

// delta finds the two strings of a piece of a run; ok is false for other records.
func (l Line) delta() (id, text []byte, ok bool) {
	if streamKind(string(l.kind)) == 0 || len(l.body) == 0 || l.body[0] != '{' {
		return nil, nil, false
	}
	return deltaOf(l.body)
}

// ParseLine finds what a line consists of.
func ParseLine(line []byte) (Line, error) {
	var l Line
	m := membersOf(line)
	for m.next() {
		switch string(m.key) {
		case "v":
			l.body = m.val
		case "v~":
			l.text = m.val
		default:
			if err := l.set(m.key, m.val); err != nil {
				return Line{}, err
			}
		}
	}
	if m.bad || l.kind == nil {
		return Line{}, errNotRecord
	}
	return l, nil
}

// Peek is ParseLine up to the event, which cannot be decoded then.
func Peek(line []byte) (Line, error) {
	var l Line
	m := membersOf(line)
	for m.nextKey() {
		if m.key[0] == 'v' && (len(m.key) == 1 || string(m.key) == "v~") {
			break
		}
		if !m.value() {
			break
		}
		if err := l.set(m.key, m.val); err != nil {
			return Line{}, err
		}
	}
	if m.bad || l.kind == nil {
		return Line{}, errNotRecord
	}
	return l, nil
}

// set takes one member of the envelope.
func (l *Line) set(key, val []byte) error {
	var ok bool
	switch string(key) {
	case "e":
		l.record.Epoch, ok = parseUint(val)
	case "s":
		l.record.Seq, ok = parseUint(val)
	case "o":
		l.record.Off, ok = parseUint(val)
	case "t":
		l.record.Time, ok = parseTime(val)
	case "k":
		if ok = len(val) >= 2 && val[0] == '"'; ok {
			l.kind = val[1 : len(val)-1]
			if bytes.IndexByte(l.kind, '\\') >= 0 {
				l.kind = []byte(parseString(val))
			}
		}
	default:
		ok = true
	}
	if !ok {
		return fmt.Errorf("%w: member %q", errNotRecord, key)
	}
	return nil
}

// storable is t as JSON can hold it: in UTC, and the zero time where the year
// has not four digits.
func storable(t time.Time) time.Time {
	t = t.UTC().Round(0)
	if y := t.Year(); y < 0 || y > 9999 {
		return time.Time{}
	}
	return t
}

// jsonFor encodes v in one line, with <, > and & as they are.
func jsonFor(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
