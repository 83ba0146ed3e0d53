package llm

import (
	"errors"
	"io"

	"dragoman/core/sse"
)

// maxEvent bounds a line and an event of a stream, and an answer that is not
// streamed, in bytes.
const maxEvent = 16 << 20

var errEventTooLong = errors.New("an event is longer than 16 MiB")

// frames yields the events of a stream, until io.EOF. name and data are valid
// until the next call.
type frames interface {
	next() (name, data []byte, err error)
	// cut reports whether the last event may be only a part of one.
	cut() bool
}

// eventFrames yields server-sent events.
type eventFrames struct{ events *sse.Reader }

func newEvents(src io.Reader) *eventFrames { return &eventFrames{sse.NewReader(src, maxEvent)} }

func (f *eventFrames) next() (name, data []byte, err error) {
	name, data, err = f.events.Next()
	if errors.Is(err, sse.ErrTooLong) {
		err = errEventTooLong
	}
	return name, data, err
}

func (f *eventFrames) cut() bool { return f.events.Unended() }
