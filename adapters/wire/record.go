package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// DefaultRecordLimit limits the part of a transcript that waits to be written, in bytes.
const DefaultRecordLimit = 16 << 20

// Recorder writes a transcript of a connection, one line for each message: "-> " and the peer's
// message, "<- " and ours, in the order in which they were read and written. "-- " begins a remark:
// a frame that could not be read. The transcript contains all secrets of the messages.
//
// A Recorder never blocks the connection. When its own output fails or is too slow, it
// stops recording.
type Recorder struct {
	Limit int // how much may wait to be written, in bytes; set before use; 0: DefaultRecordLimit

	out *Writer
}

// NewRecorder returns a recorder of lines to out, which [Recorder.Run] writes and closes.
func NewRecorder(out io.WriteCloser) *Recorder { return &Recorder{out: NewWriter(out, Newline)} }

// Run writes the transcript until ctx ends or its output fails. Run it in parallel with the
// connection, and end it afterwards.
func (r *Recorder) Run(ctx context.Context) error { return r.out.Run(ctx) }

// Close ends Run when all that was recorded so far has been written.
func (r *Recorder) Close() { r.out.Close() }

func (r *Recorder) note(mark string, msg []byte) {
	if r.out.Queued() > orDefault(r.Limit, DefaultRecordLimit) {
		r.out.Put([]byte("-- recording ended: the transcript cannot be written fast enough")) //nolint:errcheck // the output has failed
		r.out.Close()
		return
	}
	line := make([]byte, 0, len(mark)+len(msg))
	r.out.Put(append(append(line, mark...), msg...)) //nolint:errcheck // recording has ended
}

// Framer records what f reads.
func (r *Recorder) Framer(f Framer) Framer { return &recordedFramer{f, r} }

type recordedFramer struct {
	Framer
	rec *Recorder
}

func (f *recordedFramer) Next() ([]byte, error) {
	b, err := f.Framer.Next()
	if fault, ok := errors.AsType[*FrameError](err); ok {
		f.rec.note("-- ", []byte(fault.Msg))
	} else if err == nil {
		f.rec.note("-> ", b)
	}
	return b, err
}

func (f *recordedFramer) Resync(body []byte) {
	if r, ok := f.Framer.(Resyncer); ok {
		r.Resync(body)
	}
}

// sent records frames that are about to be written, so that an answer to one of them is
// never recorded first.
func (r *Recorder) sent(whole []byte, framing Framing) {
	frames := framing.Framer(bytes.NewReader(whole), len(whole)+1)
	for {
		msg, err := frames.Next()
		if err != nil {
			return
		}
		r.note("<- ", msg)
	}
}
