package core

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// maxPrinted limits the output that is kept of a running call, in bytes of its end.
const maxPrinted = 32 << 10

// printed is the end of what a running call has printed: what is left of it when it
// is stopped before it has a result.
type printed struct {
	end     []byte
	dropped int // bytes in front of it
}

func (p *printed) add(text string) {
	p.end = append(p.end, text...)
	if n := len(p.end) - maxPrinted; n > maxPrinted {
		p.drop(n)
	}
}

// drop takes n bytes away, and the rest of a character.
func (p *printed) drop(n int) {
	for n < len(p.end) && !utf8.RuneStart(p.end[n]) {
		n++
	}
	p.end = bytes.Clone(p.end[n:])
	p.dropped += n
}

// text returns the kept output, behind a note of the bytes that are left out.
func (p *printed) text() string {
	if n := len(p.end) - maxPrinted; n > 0 {
		p.drop(n)
	}
	if p.dropped > 0 {
		return fmt.Sprintf("[the first %d bytes are left out]\n%s", p.dropped, p.end)
	}
	return string(p.end)
}

// stopped is a call that ends before it has a result: one that ran keeps what it
// changed and where it was shown, and what it has printed.
func (s *State) stopped(c Call) Call {
	if c.State != Running {
		return c
	}
	var kept []Block
	for _, b := range c.Content {
		switch b.(type) {
		case Diff, Terminal:
			kept = append(kept, b)
		case Text, Image, Audio, Link, Resource: // what was shown before it ran, or while it did
		}
	}
	if p := s.printed[c.ID]; p != nil {
		kept = append(kept, Text{p.text()})
	}
	c.Content = kept
	return c
}
