package bridge

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// event is one server-sent event.
type event struct {
	name, id string
	data     []byte
	retry    time.Duration // 0: not given
}

// events reads a text/event-stream (WHATWG HTML, 9.2).
type events struct {
	r     *bufio.Reader
	limit int // bytes of one event
}

func newEvents(r io.Reader, limit int) *events {
	return &events{bufio.NewReaderSize(r, 32<<10), limit}
}

// next blocks until a whole event is there. At the end of the stream an event that
// is not finished is dropped.
func (s *events) next() (e event, err error) {
	size, some := 0, false
	for {
		line, err := s.line(s.limit - size)
		if err != nil {
			return event{}, err
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
			e.name, some = string(value), true
		case "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data, some = append(e.data, value...), true
			if e.data == nil {
				e.data = []byte{}
			}
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				e.id, some = string(value), true
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry, some = time.Duration(ms)*time.Millisecond, true
			}
		}
	}
}

// line reads a line without its end, in memory of its own.
func (s *events) line(limit int) ([]byte, error) {
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
