package tail

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTail checks that the end is kept in whole characters and bounded memory.
func TestTail(t *testing.T) {
	var p Tail
	if p.Add("one\n"); p.Text() != "one\n" {
		t.Errorf("got %q", p.Text())
	}
	for range 5 * Max / 6 {
		p.Add("€€")
	}
	p.Add("end")
	if len(p.end) > 2*Max {
		t.Errorf("%d bytes are held", len(p.end))
	}
	text := p.Text()
	if len(text) > Max+100 || !strings.HasPrefix(text, "[the first ") || !strings.HasSuffix(text, "€end") || !utf8.ValidString(text) || text != p.Text() {
		t.Errorf("%d bytes: %.60q", len(text), text)
	}
}
