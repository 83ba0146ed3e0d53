package files

import (
	"bufio"
	"context"
	"errors"
	"io"

	"dragoman/core/display"
)

// MaxScan is how far into a stream the lines of a Span may be, in bytes.
const MaxScan = 256 << 20

// Span says which lines are cut out of a text.
type Span struct {
	First   int   // counted from 1
	Count   int   // at most
	Most    int   // bytes
	Before  int   // lines of the text that the stream does not have, because it begins behind them
	Counted int64 // lines behind the wanted ones are counted until this many bytes were read
}

// Lines is a part of a text, exactly as it is there.
type Lines struct {
	Text  []byte
	Shown int  // lines in Text
	Total int  // lines up to the place where reading stopped
	Full  bool // not all wanted lines fit
	Cut   bool // the last line in Text is too long and not whole
	Far   bool // reading stopped before the end
}

// From cuts the lines out of a stream, with bounded memory.
func (s Span) From(ctx context.Context, r io.Reader) (Lines, error) {
	in, l, read := bufio.NewReaderSize(r, 64<<10), Lines{Total: s.Before}, int64(0)
	for {
		part, err := in.ReadSlice('\n')
		read += int64(len(part))
		if len(part) > 0 {
			if at := l.Total + 1 - s.First; at >= 0 && at < s.Count && !l.Full {
				l.add(part, at, s.Most)
			}
			if err == nil || errors.Is(err, io.EOF) {
				l.Total++
			}
		}
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return l, err
		}
		past := l.Full || l.Total-s.First+1 >= s.Count
		if past && read > s.Counted || read > MaxScan {
			l.Far = true
			return l, nil
		}
		if ctx.Err() != nil {
			return l, context.Cause(ctx)
		}
	}
}

// add takes wanted line number at, counted from 0, or a part of it.
func (l *Lines) add(part []byte, at, most int) {
	first := l.Shown < at+1
	switch room := most - len(l.Text); {
	case len(part) <= room:
	case first && l.Shown > 0:
		l.Full = true
		return
	default: // a single line that is too long
		l.Full, l.Cut = true, true
		part = display.Cut(part, room)
	}
	if first {
		l.Shown++
	}
	l.Text = append(l.Text, part...)
}
