package wire

import "testing"

// What the stream did not take stands before what was put since, with its answers.
func TestRestOfAWriteComesFirst(t *testing.T) {
	w := NewWriter(nil, Newline)
	w.buf, w.replies = []byte("put since\n"), tally{1, 10}
	w.cuts = []cut{{10, tally{1, 10}}}
	w.returnLocked([]byte("rest\n"), tally{2, 20})
	if string(w.buf) != "rest\nput since\n" || w.replies != (tally{3, 30}) || w.cuts[0] != (cut{15, tally{3, 30}}) {
		t.Errorf("%q, %v, %v", w.buf, w.replies, w.cuts)
	}
}
