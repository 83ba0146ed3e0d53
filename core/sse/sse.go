// Package sse reads server-sent events.
//
// It follows the HTML standard (section 9.2.6): lines end with CR, LF or CRLF,
// comments and unknown fields are skipped, data lines are joined by LF, a byte order
// mark is ignored, and an event that is cut off by the end of the stream is dropped.
// It does more in two cases, because its callers need it: an event without data is
// returned if it has an id, a retry time or a name, because MCP uses such events; and
// an event that was cut off by the end of the stream is available from [Reader.Rest],
// because some model services omit the last empty line.
//
// The lines of an event have no more bytes than the limit that the caller sets. The
// space for a long event is released with it. The package does not write events: that
// takes one line.
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

// An Event is the text between two empty lines.
type Event struct {
	Name  []byte        // its type; empty if it has none
	ID    []byte        // empty if it has none
	Data  []byte        // nil if it has none
	Retry time.Duration // how long to wait before the next connection; 0: not given
}

// Reader reads events from a stream. It has no goroutine, and reads no further than
// necessary.
type Reader struct {
	src   io.Reader
	limit int

	buf     []byte // buf[from:] was read and not used yet
	from    int
	scanned int // buf[from:scanned] has no line end
	skipLF  bool
	begun   bool
	more    bool // the last read has filled the buffer
	err     error

	event Event // the fields so far
	data  []byte
	some  bool // it has a field that counts
	size  int  // of its lines
}

const (
	firstBuffer = 1 << 10
	// usualBuffer is the size in bytes to which a buffer grows if the source fills it: twice that of
	// one read of an HTTP body, which then still fits behind the beginning of an event.
	usualBuffer = 8 << 10
	// keptBuffer is the largest buffer in bytes that is kept for the next event.
	keptBuffer = 1 << 20
)

// NewReader returns a reader of src that refuses events with more than limit bytes.
func NewReader(src io.Reader, limit int) *Reader {
	return &Reader{src: src, limit: limit, buf: make([]byte, 0, firstBuffer)}
}

// Next blocks until an event is complete and returns it; it is valid until the next
// call. At the end it returns io.EOF, for a broken stream the error of the source, and
// an ErrTooLong for an event beyond the limit.
func (r *Reader) Next() (*Event, error) {
	r.begin()
	if r.whole() {
		return &r.event, nil
	}
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

// Rest returns the event that was cut off by the end of the stream, once Next has
// returned io.EOF. The caller checks whether it is complete.
func (r *Reader) Rest() (e *Event, ok bool) {
	if !r.some || !errors.Is(r.err, io.EOF) {
		return nil, false
	}
	return &r.event, true
}

// begin drops the last event, and the buffer of a very long one.
func (r *Reader) begin() {
	if r.some = false; cap(r.data) > keptBuffer {
		r.data = nil
	}
	e := &r.event
	e.Name, e.ID, e.Data, e.Retry, r.size = e.Name[:0], e.ID[:0], nil, 0, 0
}

// whole reads an event of the usual form, without a copy of its data: one line of data, maybe behind
// one with its name. It reports whether there is one, and all of it is in the buffer.
func (r *Reader) whole() bool {
	if !r.begun || r.skipLF {
		return false
	}
	rest := r.buf[r.from:]
	var name []byte
	if from, named := bytes.CutPrefix(rest, []byte("event: ")); named {
		var ended bool
		if name, rest, ended = bytes.Cut(from, []byte{'\n'}); !ended || bytes.IndexByte(name, '\r') >= 0 {
			return false
		}
	}
	data, is := bytes.CutPrefix(rest, []byte("data: "))
	end := bytes.IndexByte(data, '\n')
	if !is || end < 0 || end+1 == len(data) || data[end+1] != '\n' || len(name)+len("event: data: ")+end > r.limit ||
		bytes.IndexByte(data[:end], '\r') >= 0 {
		return false
	}
	r.event.Name, r.event.Data, r.some = append(r.event.Name, name...), data[:end:end], true
	r.from = len(r.buf) - len(data) + end + len("\n\n")
	r.scanned = r.from
	return true
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

// fill reads once, into space that it makes.
func (r *Reader) fill() error {
	unread := len(r.buf) - r.from
	switch {
	case unread == 0 && cap(r.buf) > keptBuffer:
		r.buf = make([]byte, 0, firstBuffer)
	case r.from > 0:
		r.buf = r.buf[:copy(r.buf, r.buf[r.from:])]
	}
	r.scanned, r.from = r.scanned-r.from, 0
	full := len(r.buf) == cap(r.buf)
	if full && r.size+unread > r.limit {
		return r.tooLong()
	}
	if full || r.more && cap(r.buf) < usualBuffer {
		r.buf = append(make([]byte, 0, 2*cap(r.buf)), r.buf...)
	}
	n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf, r.err = r.buf[:len(r.buf)+n], err
	r.more = len(r.buf) == cap(r.buf)
	return nil
}

func (r *Reader) tooLong() error {
	r.some = false
	return fmt.Errorf("%w: it exceeds %d bytes", ErrTooLong, r.limit)
}

// withoutMark drops the byte order mark at the beginning of a stream.
func (r *Reader) withoutMark(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}
