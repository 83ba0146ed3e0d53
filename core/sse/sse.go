// Package sse reads server-sent events.
//
// A stream that ends with an event without its empty line is read to its end, since some
// model services end theirs in this way; Unended reports it. No event and no line is longer
// than the limit that the caller sets. Writing events is left to who writes them: it is one
// line.
package sse

import (
	"bytes"
	"errors"
	"io"
)

// ErrTooLong is the error of a stream with an event longer than the limit.
var ErrTooLong = errors.New("an event of the stream is too long")

// Reader reads server-sent events as the HTML standard defines them
// (section 9.2.6): lines end with CR, LF or CRLF, comments and unknown fields
// are skipped, data lines are joined by LF, a byte order mark is ignored.
type Reader struct {
	src   io.Reader
	limit int

	buf     []byte // buf[from:] was read and not used yet
	from    int
	scanned int // buf[from:scanned] holds no line end
	skipLF  bool
	begun   bool
	err     error

	name []byte
	data []byte

	unended bool // the last event lacked its empty line
}

// NewReader returns a reader of src that refuses lines and events of more than limit bytes.
func NewReader(src io.Reader, limit int) *Reader {
	return &Reader{src: src, limit: limit, buf: make([]byte, 0, 16<<10)}
}

// Next returns the next event that has data. Both results are valid until the
// next call. At the end it returns io.EOF; when the stream broke off, the
// reader's error. Data before a clean end that lacks its empty line is returned:
// whether it is whole is for the caller to see.
func (r *Reader) Next() (name, data []byte, err error) {
	r.name, r.data = r.name[:0], r.data[:0]
	some := false
	for {
		line, err := r.line()
		if err != nil {
			if errors.Is(err, io.EOF) && some {
				r.unended = true
				return r.name, r.data, nil
			}
			return nil, nil, err
		}
		if len(line) == 0 {
			if some {
				return r.name, r.data, nil
			}
			r.name = r.name[:0]
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "event":
			r.name = append(r.name[:0], value...)
		case "data":
			if some {
				r.data = append(r.data, '\n')
			}
			if len(r.data)+len(value) > r.limit {
				return nil, nil, ErrTooLong
			}
			r.data, some = append(r.data, value...), true
		}
	}
}

// Unended reports whether the last event lacked its empty line.
func (r *Reader) Unended() bool { return r.unended }

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
	if r.from > 0 {
		n := copy(r.buf, r.buf[r.from:])
		r.scanned -= r.from
		r.buf, r.from = r.buf[:n], 0
	}
	if len(r.buf) == cap(r.buf) {
		if len(r.buf) >= r.limit {
			return ErrTooLong
		}
		r.buf = append(make([]byte, 0, 2*cap(r.buf)), r.buf...)
	}
	n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf, r.err = r.buf[:len(r.buf)+n], err
	return nil
}

// withoutMark drops the byte order mark that a stream may begin with.
func (r *Reader) withoutMark(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}
