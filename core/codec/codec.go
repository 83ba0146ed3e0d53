package codec

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"dragoman/core"
	"dragoman/core/jsonscan"
)

// Encoder writes one log's records. The zero value is ready; it may continue a log of
// another Encoder. It is not safe for concurrent use.
type Encoder struct {
	calls map[core.CallID]core.Call // live calls, in their last written form
}

// Append appends the stored form of r to dst, without a newline. It cannot fail:
// values that JSON cannot express (a time in the year 12000, a cost of NaN) are left
// out.
func (e *Encoder) Append(dst []byte, r core.Record) []byte {
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

// Reset forgets all calls, after encoded records did not reach the log: the following
// records are written in full.
func (e *Encoder) Reset() { clear(e.calls) }

// Decoder reads one log's records, in the log's order. The zero value is ready.
// It is not safe for concurrent use.
type Decoder struct {
	calls   map[core.CallID]core.Call // live calls, in their last read form
	skipped map[core.CallID][][]byte  // bodies of live calls' records that are not in calls
	id      string                    // of the last delta, for reuse
	words   *words                    // nil: none yet
}

var errNotRecord = errors.New("not a record")

// Decode reads a line of Append. The record shares no memory with line. An event of an
// unknown kind, or one that makes no sense to this version, becomes Unknown; an error
// means that line is not a record.
func (d *Decoder) Decode(line []byte) (core.Record, error) {
	l, err := ParseLine(line)
	if err != nil {
		return core.Record{}, err
	}
	return d.DecodeLine(l)
}

// DecodeLine is Decode for a line that ParseLine has read.
func (d *Decoder) DecodeLine(l Line) (core.Record, error) {
	r := l.record
	if l.stream != 0 {
		r.Event = d.delta(l)
		return r, nil
	}
	var err error
	if r.Event, err = d.event(l); err != nil {
		return core.Record{}, fmt.Errorf("record %d.%d: %w", r.Seq, r.Off, err)
	}
	return r, nil
}

// Skip replaces Decode for a record that is not needed, and costs less. It keeps the
// data that later records may refer to.
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

// Rest drops what only saves memory while many records are read, before a long pause.
func (d *Decoder) Rest() { d.words = nil }

// forget drops all calls, because a turn has ended and its calls before it, or because
// missing records may belong to them.
func (d *Decoder) forget() {
	clear(d.calls)
	clear(d.skipped)
}

// Line is a record whose event is not decoded yet. It is a view of its bytes.
type Line struct {
	record core.Record
	kind   []byte
	body   []byte // v
	text   []byte // v~
	stream byte   // streamKind of a piece of a stream; 0: it is something else, or not parsed
	id     []byte // of the stream, quoted
	piece  []byte // its text, quoted
	plain  bool   // the text is known to mean itself
}

// Place returns the record without its event.
func (l Line) Place() core.Record { return l.record }

// Kind returns the stored name of the event's kind.
func (l Line) Kind() string { return string(l.kind) }

// IsCall reports whether the event is a CallChanged, to which later ones may refer.
func (l Line) IsCall() bool { return string(l.kind) == kindCall }

// End returns the position after the record, which ParseLine must have read.
func (l Line) End() core.Pos {
	if l.stream != 0 {
		return core.Pos{
			Epoch: l.record.Epoch,
			Seq:   l.record.Seq,
			Off:   l.record.Off + l.pieceLen(),
		}
	}
	r := l.record
	if string(l.kind) == kindMissing {
		r.Event = plainEvent[core.Missing](l.body)
	}
	return r.End()
}

func (l Line) pieceLen() uint64 {
	if l.plain {
		return uint64(len(l.piece) - len(`""`))
	}
	return uint64(jsonscan.TextLen(l.piece))
}

// AppendStream appends the name of the record's stream. It appends nothing if the
// record is not a piece of a stream. ParseLine must have read the record.
func (l Line) AppendStream(dst []byte) []byte {
	if l.stream == 0 {
		return dst
	}
	return append(append(dst, l.stream), l.id...)
}

// StreamDelta makes a piece of a stream with a name from AppendStream.
func StreamDelta(name []byte, text string) core.Event {
	return deltaEvent(name[0], jsonscan.Text(name[1:]), text)
}

// ParseLine finds the parts of a line.
func ParseLine(line []byte) (Line, error) {
	if l, ok := ownLine(line); ok {
		return l, nil
	}
	return anyLine(line)
}

// ownLine is ParseLine for the form in which Append writes, with the event last, and passes over its text
// once. For any other form ok is false, and anyLine decides.
func ownLine(line []byte) (l Line, ok bool) {
	f := fields{c: jsonscan.NewCursor(line)}
	for f.next() {
		if string(f.key) == "v" {
			f.event(&l)
			return l, f.c.Take('}') && f.end()
		}
		if string(f.key) == "v~" || l.set(f.key, f.raw()) != nil {
			return Line{}, false
		}
	}
	return Line{}, false
}

// event reads the event of a line whose kind is known.
func (f *fields) event(l *Line) {
	l.stream = streamKind(string(l.kind))
	if l.stream == 0 {
		l.body = f.raw()
		f.bad = f.bad || l.kind == nil
		return
	}
	f.into()
	if f.next() && string(f.key) == "id" {
		l.id, _, _ = f.c.Quoted()
	}
	if f.next() && string(f.key) == "text" {
		l.piece, l.plain, _ = f.c.Quoted()
	}
	f.bad = f.next() || f.bad || l.id == nil || l.piece == nil
}

func anyLine(line []byte) (Line, error) {
	var l Line
	m := membersOf(line)
	for m.Next() {
		switch string(m.Key) {
		case "v":
			l.body = m.Val
		case "v~":
			l.text = m.Val
		default:
			if err := l.set(m.Key, m.Val); err != nil {
				return Line{}, err
			}
		}
	}
	if m.Bad || l.kind == nil {
		return Line{}, errNotRecord
	}
	if kind := streamKind(string(l.kind)); kind != 0 && len(l.body) > 0 && l.body[0] == '{' {
		if id, piece, ok := deltaOf(l.body); ok {
			l.stream, l.id, l.piece = kind, id, piece
		}
	}
	return l, nil
}

// Peek is ParseLine up to the event, which cannot be decoded then.
func Peek(line []byte) (Line, error) {
	var l Line
	m := membersOf(line)
	for m.NextKey() {
		if string(m.Key) == "v" || string(m.Key) == "v~" {
			break
		}
		if !m.Value() {
			break
		}
		if err := l.set(m.Key, m.Val); err != nil {
			return Line{}, err
		}
	}
	if m.Bad || l.kind == nil {
		return Line{}, errNotRecord
	}
	return l, nil
}

// set reads one member of the envelope.
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
				l.kind = []byte(jsonscan.Text(val))
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

// storable returns t in a form for JSON: in UTC, and the zero time if the year does
// not have four digits.
func storable(t time.Time) time.Time {
	t = t.UTC().Round(0)
	if y := t.Year(); y < 0 || y > 9999 {
		return time.Time{}
	}
	return t
}
