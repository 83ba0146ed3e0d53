// Package sse reads server-sent events.
//
// It follows the HTML standard (section 9.2.6): lines end with CR, LF or CRLF, comments and
// unknown fields are skipped, data lines are joined by LF, a byte order mark is ignored, and
// an event that the stream ends within is none. In two things it does more, because its
// callers need it: an event without data is returned if it names an id, a time to retry or
// itself, since those of MCP do their work that way; and the event that a stream ended
// within can be had ([Reader.Rest]), since some model services end theirs without the last
// empty line.
//
// The lines of an event hold no more bytes than the limit that the caller sets. Room that a
// long one needed is given up with it. Writing events is left to who writes them: it is one
// line.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// ErrTooLong is wrapped by the error of a stream with an event longer than the limit.
var ErrTooLong = errors.New("an event of the stream is too long")

// An Event is what stands between two empty lines.
type Event struct {
	Name  []byte        // its type; empty if it has none
	ID    []byte        // empty if it has none
	Data  []byte        // nil if it has none
	Retry time.Duration // how long to wait before the stream is asked for again; 0: not given
}

// Reader reads events from a stream. It has no goroutine, and reads no further than it has to.
type Reader struct {
	src   io.Reader
	limit int

	buf     []byte // buf[from:] was read and not used yet
	from    int
	scanned int // buf[from:scanned] holds no line end
	skipLF  bool
	begun   bool
	err     error

	event Event // what is read of it
	data  []byte
	some  bool // of its fields count
	size  int  // of its lines
}

const (
	firstBuffer = 16 << 10
	// keptBuffer is the largest room in bytes that is kept for the next event.
	keptBuffer = 1 << 20
)

// NewReader returns a reader of src that refuses events with more than limit bytes.
func NewReader(src io.Reader, limit int) *Reader {
	return &Reader{src: src, limit: limit, buf: make([]byte, 0, firstBuffer)}
}

// Next blocks until an event is whole and returns it; it is valid until the next call. At
// the end it returns io.EOF, when the stream broke off the error of the source, and an
// ErrTooLong for an event beyond the limit.
func (r *Reader) Next() (*Event, error) {
	r.begin()
	for {
		line, err := r.line()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			if r.some {
				return &r.event, nil
			}
			r.size = 0
			continue
		}
		if r.size += len(line); r.size > r.limit {
			return nil, r.tooLong()
		}
		r.field(line)
	}
}

// Rest returns the event that the stream ended within, once Next has returned io.EOF.
// Whether it is whole is for the caller to see.
func (r *Reader) Rest() (e *Event, ok bool) {
	if !r.some || !errors.Is(r.err, io.EOF) {
		return nil, false
	}
	return &r.event, true
}

// begin forgets the last event, and the room that a very long one took.
func (r *Reader) begin() {
	if r.some = false; cap(r.data) > keptBuffer {
		r.data = nil
	}
	e := &r.event
	e.Name, e.ID, e.Data, e.Retry, r.size = e.Name[:0], e.ID[:0], nil, 0, 0
}

// field reads a line that is not empty.
func (r *Reader) field(line []byte) {
	field, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	e := &r.event
	switch string(field) {
	case "event":
		e.Name, r.some = append(e.Name[:0], value...), true
	case "data":
		if e.Data == nil {
			e.Data = r.data[:0]
		} else {
			e.Data = append(e.Data, '\n')
		}
		if e.Data = append(e.Data, value...); e.Data == nil {
			e.Data = []byte{}
		}
		r.data, r.some = e.Data, true
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.ID, r.some = append(e.ID[:0], value...), true
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			e.Retry, r.some = time.Duration(ms)*time.Millisecond, true
		}
	}
}

// line returns the next line without its end. It is valid until the next call.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.from < len(r.buf) {
			if r.buf[r.from] == '\n' {
				r.from++
			}
			r.skipLF = false
			r.scanned = r.from
		}
		if i := lineEnd(r.buf[r.scanned:]); i >= 0 {
			end := r.scanned + i
			line := r.buf[r.from:end]
			r.skipLF = r.buf[end] == '\r'
			r.from = end + 1
			r.scanned = r.from
			return r.withoutMark(line), nil
		}
		r.scanned = len(r.buf)
		if r.err != nil {
			if line := r.buf[r.from:]; len(line) > 0 && errors.Is(r.err, io.EOF) {
				r.from = len(r.buf)
				return r.withoutMark(line), nil
			}
			return nil, r.err
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

func lineEnd(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i >= 0 {
		b = b[:i]
	}
	if j := bytes.IndexByte(b, '\r'); j >= 0 {
		return j
	}
	return i
}

// fill reads once, into room that it makes.
func (r *Reader) fill() error {
	unread := len(r.buf) - r.from
	switch {
	case unread == 0 && cap(r.buf) > keptBuffer:
		r.buf = make([]byte, 0, firstBuffer)
	case r.from > 0:
		r.buf = r.buf[:copy(r.buf, r.buf[r.from:])]
	}
	r.scanned, r.from = r.scanned-r.from, 0
	if len(r.buf) == cap(r.buf) {
		if r.size+unread > r.limit {
			return r.tooLong()
		}
		r.buf = append(make([]byte, 0, 2*cap(r.buf)), r.buf...)
	}
	n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf, r.err = r.buf[:len(r.buf)+n], err
	return nil
}

func (r *Reader) tooLong() error {
	r.some = false
	return fmt.Errorf("%w: it exceeds %d bytes", ErrTooLong, r.limit)
}

// withoutMark drops the byte order mark that a stream may begin with.
func (r *Reader) withoutMark(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}
