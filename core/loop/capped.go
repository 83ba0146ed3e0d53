package loop

import (
	"fmt"
	"unicode/utf8"

	"dragoman/core/display"
)

// maxText limits one text in a request, in bytes: of a longer one the model gets the
// beginning and the end.
const maxText = 256 << 10

// cappedText is a growing text of which only the beginning and the end are kept. The
// result does not depend on the pieces in which the text was written.
type cappedText struct {
	head, tail []byte // half of maxText; at least the last half of a longer text
	size       int
}

func (c *cappedText) write(s string) {
	const half = maxText / 2
	c.size += len(s)
	if room := half - len(c.head); room > 0 {
		n := min(room, len(s))
		c.head, s = append(c.head, s[:n]...), s[n:]
	}
	if len(s) > half {
		c.tail, s = c.tail[:0], s[len(s)-half:]
	}
	if len(c.tail)+len(s) > 2*half {
		kept := copy(c.tail, c.tail[len(c.tail)-half:])
		c.tail = c.tail[:kept]
	}
	c.tail = append(c.tail, s...)
}

func (c *cappedText) String() string {
	if c.size <= maxText {
		return string(c.head) + string(c.tail)
	}
	head, tail := c.head, display.CutEnd(c.tail, maxText/2)
	for i := 0; i < utf8.UTFMax && len(head) > 0; i++ { // no partial rune at the cut
		if r, n := utf8.DecodeLastRune(head); r != utf8.RuneError || n > 1 {
			break
		}
		head = head[:len(head)-1]
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, c.size-len(head)-len(tail), tail)
}
