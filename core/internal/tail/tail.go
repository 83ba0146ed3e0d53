// Package tail keeps the end of a long output.
package tail

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Max limits what is kept, in bytes.
const Max = 32 << 10

// Tail keeps the last Max bytes of an output. The zero value is empty and ready to use.
type Tail struct {
	end     []byte
	dropped int // bytes in front of the kept ones
}

// Add appends to the output.
func (t *Tail) Add(text string) {
	if t.end = append(t.end, text...); len(t.end) > 2*Max {
		t.cut()
	}
}

// cut drops all but the last Max bytes, and the rest of a character that this cuts.
func (t *Tail) cut() {
	n := max(len(t.end)-Max, 0)
	for n > 0 && n < len(t.end) && !utf8.RuneStart(t.end[n]) {
		n++
	}
	t.end = bytes.Clone(t.end[n:])
	t.dropped += n
}

// Text returns the kept output after a note of how many bytes are left out.
func (t *Tail) Text() string {
	t.cut()
	if t.dropped > 0 {
		return fmt.Sprintf("[the first %d bytes are left out]\n%s", t.dropped, t.end)
	}
	return string(t.end)
}
