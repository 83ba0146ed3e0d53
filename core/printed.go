package core

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// maxPrinted limits the output that is kept of a running call, in bytes of its end.
const maxPrinted = 32 << 10

// outputTail keeps the end of a running call's output, which is all that is left if the call is
// stopped before it has a result.
type outputTail struct {
	end     []byte
	dropped int // bytes in front of the kept ones
}

func (p *outputTail) add(text string) {
	if p.end = append(p.end, text...); len(p.end) > 2*maxPrinted {
		p.cut()
	}
}

// cut drops all but the last maxPrinted bytes, and the rest of a character that this cuts.
func (p *outputTail) cut() {
	n := max(len(p.end)-maxPrinted, 0)
	for n > 0 && n < len(p.end) && !utf8.RuneStart(p.end[n]) {
		n++
	}
	p.end = bytes.Clone(p.end[n:])
	p.dropped += n
}

// text returns the kept output after a note of how many bytes are left out.
func (p *outputTail) text() string {
	p.cut()
	if p.dropped > 0 {
		return fmt.Sprintf("[the first %d bytes are left out]\n%s", p.dropped, p.end)
	}
	return string(p.end)
}

// stopped returns the state of a call that ends before it has a result. A call that ran keeps
// its changes, the terminals that showed it, and its output.
func (s *State) stopped(c Call) Call {
	if c.State != Running {
		return c
	}
	var kept []Block
	for _, b := range c.Content {
		switch b.(type) {
		case Diff, Terminal:
			kept = append(kept, b)
		case Text, Image, Audio, Link, Resource: // shown before the call ran, or while it did
		}
	}
	if p := s.printed[c.ID]; p != nil {
		kept = append(kept, Text{p.text()})
	}
	c.Content = kept
	return c
}
