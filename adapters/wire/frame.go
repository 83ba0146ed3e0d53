package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxMessage is the default limit of one message, in bytes.
const MaxMessage = 64 << 20

// readBuffer limits one read of a framer, in bytes; a message that is longer grows its own
// memory as it arrives.
const readBuffer = 64 << 10

// Framing is a way to separate the messages of a byte stream.
type Framing uint8

const (
	// Newline ends each message with a line feed; a message holds none (ACP, MCP, seeds of both).
	Newline Framing = iota
	// ContentLength puts a header section with the body's length before each message (ECA, LSP).
	ContentLength
)

// Framer returns a framer that reads messages of at most limit bytes from r; a limit of
// 0 or less is [MaxMessage].
func (f Framing) Framer(r io.Reader, limit int) Framer {
	switch f {
	case Newline:
		return Lines(r, limit)
	case ContentLength:
		return Headers(r, limit)
	}
	return Lines(r, limit)
}

// A Framer takes messages out of a stream, one at a time.
//
// Next blocks until a message is there. The slice is never empty and belongs to the
// caller. A [*FrameError] is a fault of one message: the caller answers it and calls
// Next again. Any other error ends the stream: io.EOF after a whole message,
// io.ErrUnexpectedEOF within one, or the reader's.
type Framer interface {
	Next() ([]byte, error)
}

// A Resyncer is a Framer that can look for the next message when the last one turns out
// not to be JSON, which may be due to a wrong length. Call it with the slice that Next
// returned last, before the next Next.
type Resyncer interface {
	Resync(body []byte)
}

// A Skipper is a Framer that can read past the rest of a message that is too long, which Next
// does otherwise: Skip blocks until its end and returns the last bytes of it. Call it after a
// [*FrameError] with a Head, before the next Next.
type Skipper interface {
	Skip() (tail []byte)
}

// edgeBytes limits the beginning and the end that are kept of a line that is too long.
const edgeBytes = 4 << 10

// A Parser is a Framer that has parsed the message which Next returned last, and found it
// valid; ok is false if it has not. What was checked at one border is not checked again.
type Parser interface {
	Framer
	Parsed() (m Message, ok bool)
}

// ParseFrom is [Parse] for the line that a framer returned last. It does not parse again what the
// framer has parsed.
func ParseFrom(f Framer, line []byte) (Message, error) {
	if p, is := f.(Parser); is {
		if m, ok := p.Parsed(); ok {
			return m, nil
		}
	}
	return Parse(line)
}

// FrameError is a fault in the framing of one message; the framer can read on.
type FrameError struct {
	Msg  string // describes the fault to the peer
	Body []byte // the message, if it could be taken out of the stream all the same; else nil
	Head []byte // the beginning of a line that is too long (Skipper)
}

func (e *FrameError) Error() string { return e.Msg }

func tooLong(limit int) *FrameError {
	return &FrameError{Msg: fmt.Sprintf("message exceeds %d bytes", limit)}
}

// lineTooLong is tooLong for a line, of which some pieces have been read.
func lineTooLong(limit int, pieces ...[]byte) *FrameError {
	fault := tooLong(limit)
	for _, piece := range pieces {
		fault.Head = append(fault.Head, piece[:min(len(piece), edgeBytes-len(fault.Head))]...)
	}
	return fault
}

const (
	bom   = "\xef\xbb\xbf" // a UTF-8 byte order mark
	space = " \t\r\n"      // what JSON calls white space
)

type lineFramer struct {
	r       *bufio.Reader
	limit   int
	started bool   // the first line has been read: no byte order mark is accepted any more
	skip    bool   // within a line that was too long; the rest of it is thrown away
	tail    []byte // the last bytes of that line so far
}

// Skip implements Skipper.
func (f *lineFramer) Skip() (tail []byte) {
	_ = f.skipped() // an error comes again at the next read
	tail, f.tail = bytes.Trim(f.tail, space), nil
	return tail
}

// skipped reads to the end of a line that was too long.
func (f *lineFramer) skipped() error {
	for f.skip {
		part, err := f.r.ReadSlice('\n')
		f.tail = append(f.tail, part...)
		f.tail = append(f.tail[:0], f.tail[max(0, len(f.tail)-edgeBytes):]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if f.skip = false; err != nil {
			return err
		}
	}
	return nil
}

// Lines returns a framer of newline-ended messages of at most limit bytes. It takes
// "\r\n" for an end too, skips lines of white space, accepts a last message without a line feed,
// and skips a byte order mark at the very start.
func Lines(r io.Reader, limit int) Framer {
	if limit <= 0 {
		limit = MaxMessage
	}
	return &lineFramer{r: bufio.NewReaderSize(r, readBuffer), limit: limit}
}

func (f *lineFramer) Next() ([]byte, error) {
	for {
		line, err := f.line()
		if !f.started && len(line) > 0 {
			line, f.started = bytes.TrimPrefix(line, []byte(bom)), true
		}
		if line = bytes.Trim(line, space); len(line) > 0 {
			return line, nil // an error with it comes again at the next read
		}
		if err != nil {
			return nil, err
		}
	}
}

// line returns the next line in memory of its own, with its end.
func (f *lineFramer) line() ([]byte, error) {
	if err := f.skipped(); err != nil {
		return nil, err
	}
	f.tail = nil
	var long longLine
	defer long.release()
	for {
		part, err := f.r.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if len(bytes.TrimRight(part, "\r\n"))+long.size > f.limit {
			f.skip, f.tail = full, bytes.Clone(part[max(0, len(part)-edgeBytes):])
			return nil, lineTooLong(f.limit, long.first(), part)
		}
		if !full && long.size == 0 {
			return bytes.Clone(part), err
		}
		long.add(part)
		if !full {
			return long.joined(), err
		}
	}
}

// grown returns b with room for n more bytes. Its capacity doubles, up to limit, so that memory
// grows with the bytes that have arrived, and a message of the limit wastes none.
func grown(b []byte, n, limit int) []byte {
	need := len(b) + n
	if need <= cap(b) {
		return b
	}
	size := need
	if len(b) > 0 {
		size = max(need, min(2*cap(b), limit))
	}
	return append(make([]byte, 0, size), b...)
}
