package streamable

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Event is one server-sent event.
type Event struct {
	Name, ID string
	Data     []byte
	Retry    time.Duration // 0: not given
}

// Events reads a text/event-stream (WHATWG HTML, 9.2).
type Events struct {
	r     *bufio.Reader
	limit int // bytes of one event
}

// NewEvents returns what reads events of at most limit bytes.
func NewEvents(r io.Reader, limit int) *Events {
	return &Events{bufio.NewReaderSize(r, 32<<10), limit}
}

// Next blocks until a whole event is there. At the end of the stream an event that
// is not finished is dropped.
func (s *Events) Next() (e Event, err error) {
	size, some := 0, false
	for {
		line, err := s.line(s.limit - size)
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if some {
				return e, nil
			}
			continue
		}
		size += len(line)
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.Name, some = string(value), true
		case "data":
			if e.Data != nil {
				e.Data = append(e.Data, '\n')
			}
			e.Data, some = append(e.Data, value...), true
			if e.Data == nil {
				e.Data = []byte{}
			}
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				e.ID, some = string(value), true
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.Retry, some = time.Duration(ms)*time.Millisecond, true
			}
		}
	}
}

// line reads a line without its end, in memory of its own.
func (s *Events) line(limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := s.r.ReadSlice('\n')
		if line = append(line, part...); len(line) > limit+2 {
			return nil, fmt.Errorf("an event of the stream exceeds %d bytes", s.limit)
		}
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return nil, err
		}
	}
}
