package llm

import (
	"errors"
	"io"

	"dragoman/core/sse"
)

// maxEvent limits a line and an event of a stream, and an answer that is not streamed,
// in bytes.
const maxEvent = 16 << 20

var errEventTooLong = errors.New("an event is longer than 16 MiB")

// frames yields the events of a stream, until io.EOF. name and data are valid
// until the next call.
type frames interface {
	next() (name, data []byte, err error)
	// cut reports whether the last event may be incomplete.
	cut() bool
}

// eventFrames yields server-sent events that have data. Data before a clean end
// without the final empty line is an event as well: the caller checks whether it is
// complete.
type eventFrames struct {
	events  *sse.Reader
	unended bool
}

func newEvents(src io.Reader) *eventFrames { return &eventFrames{events: sse.NewReader(src, maxEvent)} }

func (f *eventFrames) next() (name, data []byte, err error) {
	for {
		e, err := f.events.Next()
		if errors.Is(err, sse.ErrTooLong) {
			return nil, nil, errEventTooLong
		}
		if err != nil {
			if e, f.unended = f.events.Rest(); !f.unended || e.Data == nil {
				return nil, nil, err
			}
		}
		if e.Data != nil {
			return e.Name, e.Data, nil
		}
	}
}

func (f *eventFrames) cut() bool { return f.unended }
