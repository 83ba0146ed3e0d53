// Package growth finds what is new in a text that is sent again and again: the output of a call, of which
// some agents send all that there is so far, or the end of it.
package growth

import (
	"bytes"
	"strings"
)

const (
	// maxKept limits what is remembered of a text, in bytes: its end.
	maxKept = 1 << 20
	// minOverlap is the least that two ends of a text have in common; less may be chance.
	minOverlap = 64
	// maxOverlap limits where the beginning of an end is looked for, in bytes.
	maxOverlap = 64 << 10
)

// Text is a text that grows. The zero value is empty.
type Text struct{ last []byte }

// Add appends a piece.
func (t *Text) Add(piece string) {
	t.last = append(t.last, piece...)
	if over := len(t.last) - maxKept; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
}

// More returns what a text has more than there was, and remembers it. A fence around all of the text does
// not count. If ok is false it does not go on with what there was.
func (t *Text) More(text string) (more string, ok bool) {
	text = Unfenced(text)
	from, ok := t.goesOn(text)
	if !ok {
		t.last = t.last[:0]
	}
	t.Add(text[from:])
	return text[from:], ok
}

// goesOn returns the place in a text behind what there was.
func (t *Text) goesOn(text string) (from int, ok bool) {
	if len(text) >= len(t.last) && text[:len(t.last)] == string(t.last) {
		return len(t.last), true
	}
	if len(text) < minOverlap {
		return 0, false
	}
	old := t.last[max(len(t.last)-maxOverlap, 0):]
	for at := 0; ; at++ { // the end of what there was, with more behind it
		i := bytes.Index(old[at:], []byte(text[:minOverlap]))
		if i < 0 {
			return 0, false
		}
		at += i
		if rest := string(old[at:]); strings.HasPrefix(text, rest) {
			return len(rest), true
		}
	}
}

// Unfenced returns a text without a fence of Markdown around all of it.
func Unfenced(text string) string {
	trimmed := strings.TrimRight(text, "\n")
	fence := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
	_, body, lines := strings.Cut(trimmed, "\n")
	if len(fence) < 3 || !lines {
		return text
	}
	body, closed := strings.CutSuffix(body, fence)
	if !closed || body != "" && !strings.HasSuffix(body, "\n") || strings.Contains("\n"+body, "\n"+fence) {
		return text
	}
	return body
}
