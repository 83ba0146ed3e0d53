package shell

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	pieceSize = 4 << 10               // a piece of output is passed on when it has this size
	pieceTime = 25 * time.Millisecond // or this age
	lastReads = 8                     // after the deadline: more than a pipe holds
)

// Stream reads a command's output to its end. It passes the output to keep as it
// arrives and to emit in pieces. While emit blocks, a full pipe slows the command
// down; stopping the command does not depend on emit.
func Stream(r *os.File, keep, emit func(string)) {
	chunks := make(chan []byte)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(chunks)
		late := 0
		for {
			buf := make([]byte, 16<<10)
			n, err := r.Read(buf)
			if n > 0 {
				chunks <- buf[:n]
			}
			if errors.Is(err, os.ErrDeadlineExceeded) && late == 0 || late > 0 && err == nil {
				// Read the rest in the pipe: it may have been there for a long time.
				if late++; late <= lastReads && r.SetReadDeadline(time.Now().Add(pieceTime)) == nil {
					continue
				}
				return
			}
			if err != nil {
				return
			}
		}
	})
	defer reader.Wait()

	var dec Decoder
	var piece []byte
	flush := func() {
		if len(piece) > 0 {
			emit(string(piece))
			piece = piece[:0]
		}
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case chunk, ok := <-chunks:
			text := dec.Text(chunk, !ok)
			keep(text)
			if len(piece) == 0 && len(text) > 0 {
				timer.Reset(pieceTime)
			}
			if piece = append(piece, text...); !ok || len(piece) >= pieceSize {
				timer.Stop()
				flush()
			}
			if !ok {
				return
			}
		case <-timer.C:
			flush()
		}
	}
}

// Decoder turns bytes into text: whole characters only, with U+FFFD for NUL and for
// invalid UTF-8. Cutting the bytes elsewhere gives the same text.
type Decoder struct{ rest []byte }

// Text decodes the next bytes; last says that no more will come.
func (d *Decoder) Text(b []byte, last bool) string {
	if len(d.rest) > 0 {
		b = append(d.rest, b...)
		d.rest = nil
	}
	if !last {
		// Keep the possible beginning of a character for the next call.
		for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
			if c := b[len(b)-i]; utf8.RuneStart(c) {
				if !utf8.FullRune(b[len(b)-i:]) {
					d.rest = bytes.Clone(b[len(b)-i:])
					b = b[:len(b)-i]
				}
				break
			}
		}
	}
	if utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == 0 {
			r = utf8.RuneError
		}
		s.WriteRune(r)
		b = b[n:]
	}
	return s.String()
}
