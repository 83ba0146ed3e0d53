package jsonl

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestLines compares reading in pieces with splitting, from the beginning and from any
// line.
func TestLines(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		var b []byte
		for range rnd.IntN(12) {
			b = append(b, strings.Repeat("x", rnd.IntN(1+rnd.IntN(100_000)))...)
			b = append(b, "\n\n"[:rnd.IntN(3)]...)
		}
		want := slices.Collect(strings.Lines(string(b)))
		l := newLines(bytes.NewReader(b))
		check := func(want []string) {
			for i, line := range want {
				text, whole := strings.CutSuffix(line, "\n")
				switch got, err := l.read(); {
				case !whole && !errors.Is(err, errUnfinished):
					t.Fatalf("an unfinished line of %d is read as one of %d, %v", len(text), len(got), err)
				case whole && (err != nil || string(got) != text):
					t.Fatalf("line %d of %d is read as one of %d, %v", i, len(text), len(got), err)
				}
				if !whole {
					return
				}
				if string(b[l.at:l.at+int64(len(line))]) != line {
					t.Fatalf("line %d is not at %d", i, l.at)
				}
			}
			if _, err := l.read(); !errors.Is(err, io.EOF) {
				t.Fatalf("the end is read as %v", err)
			}
		}
		check(want)
		if n := len(want); n > 0 {
			from := rnd.IntN(n)
			l.goTo(int64(len(strings.Join(want[:from], ""))))
			check(want[from:])
		}
	}
}

// Reading only the first line of a file does not allocate a large buffer.
func TestFirstLineIsReadInASmallPiece(t *testing.T) {
	l := newLines(strings.NewReader(strings.Repeat("short\n", 100_000)))
	if line, err := l.read(); string(line) != "short" || err != nil || len(l.buf) != firstPiece {
		t.Errorf("read %q, %v, with a buffer of %d", line, err, len(l.buf))
	}
	for range 50_000 {
		if _, err := l.read(); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.buf) != largePiece {
		t.Errorf("a long file is read with a buffer of %d", len(l.buf))
	}
}
