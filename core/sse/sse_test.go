package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const maxEvent = 16 << 20

func readEvents(src io.Reader) (events []string, err error) {
	r := NewReader(src, maxEvent)
	for {
		name, data, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, fmt.Sprintf("%s|%s", name, data))
	}
}

func TestEvents(t *testing.T) {
	tests := []struct{ in, want string }{
		{"data: a\n\ndata: b\n\n", "|a,|b"},
		{"data:a\r\n\r\ndata:  b\r\n\r\n", "|a,| b"},
		{"data: a\r\rdata: b\r\r", "|a,|b"},
		{"data: a\ndata\ndata: b\n\n", "|a\n\nb"},
		{"event: x\ndata: a\n\ndata: b\n\n", "x|a,|b"},
		{"event: x\n\ndata: b\n\n", "|b"},
		{": a\nid: 1\nretry: 2\nfoo: bar\nnot a field\ndata: a\n\n", "|a"},
		{"\ufeffdata: a\n\n\ufeffdata: b\n\n", "|a"},
		{"\n\n\ndata: a", "|a"},
		{"data: a\n", "|a"},
		{"", ""},
	}
	for _, tt := range tests {
		for name, src := range map[string]io.Reader{
			"whole": strings.NewReader(tt.in), "bytes": iotest.OneByteReader(strings.NewReader(tt.in)),
			"with the end": iotest.DataErrReader(strings.NewReader(tt.in)),
		} {
			got, err := readEvents(src)
			if !errors.Is(err, io.EOF) || strings.Join(got, ",") != tt.want {
				t.Errorf("%q %s: %q, %v; want %q", tt.in, name, got, err, tt.want)
			}
		}
	}
}

// TestEventsBroken: what is not ended is not an event when the stream breaks.
func TestEventsBroken(t *testing.T) {
	broken := errors.New("reset")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || strings.Join(got, ",") != "|a" {
		t.Errorf("%q, %v", got, err)
	}
}

// repeat yields b, n times.
type repeat struct {
	b    byte
	left int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := min(len(p), r.left)
	if n == 0 {
		return 0, io.EOF
	}
	r.left -= n
	for i := range n {
		p[i] = r.b
	}
	return n, nil
}

func TestEventsBound(t *testing.T) {
	head := "data: "
	long := func(n int) io.Reader {
		return io.MultiReader(strings.NewReader(head), &repeat{'x', n}, strings.NewReader("\n\n"))
	}
	if got, err := readEvents(long(maxEvent / 2)); !errors.Is(err, io.EOF) || len(got) != 1 || len(got[0]) != maxEvent/2+1 {
		t.Errorf("8 MiB: %d events, %v", len(got), err)
	}
	if _, err := readEvents(long(maxEvent)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a line of 16 MiB: %v", err)
	}
	var lines bytes.Buffer
	for range 20 {
		lines.WriteString("data: " + strings.Repeat("x", 1<<20) + "\n")
	}
	if _, err := readEvents(&lines); !errors.Is(err, ErrTooLong) {
		t.Errorf("an event of 20 MiB: %v", err)
	}
}

// FuzzEvents: however the bytes arrive, the events are the same.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\nevent: x\rdata: b\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, err1 := readEvents(bytes.NewReader(b))
		bytewise, err2 := readEvents(iotest.OneByteReader(bytes.NewReader(b)))
		if fmt.Sprint(whole, err1) != fmt.Sprint(bytewise, err2) {
			t.Errorf("%q: %q, %v; byte by byte %q, %v", b, whole, err1, bytewise, err2)
		}
	})
}
