package core

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The end of a call's output is kept, in whole characters and bounded memory.
func TestPrinted(t *testing.T) {
	var p outputTail
	if p.add("one\n"); p.text() != "one\n" {
		t.Errorf("got %q", p.text())
	}
	for range 5 * maxPrinted / 6 {
		p.add("€€")
	}
	p.add("end")
	if len(p.end) > 2*maxPrinted {
		t.Errorf("%d bytes are held", len(p.end))
	}
	text := p.text()
	if len(text) > maxPrinted+100 || !strings.HasPrefix(text, "[the first ") || !strings.HasSuffix(text, "€end") || !utf8.ValidString(text) || text != p.text() {
		t.Errorf("%d bytes: %.60q", len(text), text)
	}
}
