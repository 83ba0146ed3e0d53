package llm

import (
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds a line and an event of a stream, and an answer that is not
// streamed, in bytes.
const maxEvent = 16 << 20

var errEventTooLong = errors.New("an event is longer than 16 MiB")

// eventReader reads server-sent events as the HTML standard defines them
// (section 9.2.6): lines end with CR, LF or CRLF, comments and unknown fields
// are skipped, data lines are joined by LF, a byte order mark is ignored.
type eventReader struct {
	src io.Reader

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

func newEventReader(src io.Reader) *eventReader {
	return &eventReader{src: src, buf: make([]byte, 0, 16<<10)}
}

// next returns the next event that has data. Both results are valid until the
// next call. At the end it returns io.EOF; when the stream broke off, the
// reader's error. Data before a clean end that lacks its empty line is returned:
// whether it is whole is for the caller to see.
func (r *eventReader) next() (name, data []byte, err error) {
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
			if len(r.data)+len(value) > maxEvent {
				return nil, nil, errEventTooLong
			}
			r.data, some = append(r.data, value...), true
		}
	}
}

func (r *eventReader) cut() bool { return r.unended }

// line returns the next line without its end. It is valid until the next call.
func (r *eventReader) line() ([]byte, error) {
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
func (r *eventReader) fill() error {
	if r.from > 0 {
		n := copy(r.buf, r.buf[r.from:])
		r.scanned -= r.from
		r.buf, r.from = r.buf[:n], 0
	}
	if len(r.buf) == cap(r.buf) {
		if len(r.buf) >= maxEvent {
			return errEventTooLong
		}
		r.buf = append(make([]byte, 0, 2*cap(r.buf)), r.buf...)
	}
	n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf, r.err = r.buf[:len(r.buf)+n], err
	return nil
}

// withoutMark drops the byte order mark that a stream may begin with.
func (r *eventReader) withoutMark(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}
