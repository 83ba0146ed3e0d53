package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

const maxEvent = 16 << 20

// readEvents returns the events with data as name|data, and the one that was cut off
// by the end of the stream.
func readEvents(src io.Reader) (events []string, err error) {
	r := NewReader(src, maxEvent)
	add := func(e *Event) {
		if e.Data != nil {
			events = append(events, fmt.Sprintf("%s|%s", e.Name, e.Data))
		}
	}
	for {
		e, err := r.Next()
		if err != nil {
			if e, ok := r.Rest(); ok {
				add(e)
			}
			return events, err
		}
		add(e)
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

// TestEventsBroken: an unfinished event is not an event when the stream breaks.
func TestEventsBroken(t *testing.T) {
	broken := errors.New("reset")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || strings.Join(got, ",") != "|a" {
		t.Errorf("%q, %v", got, err)
	}
}

// repeatReader yields b, n times.
type repeatReader struct {
	b    byte
	left int
}

func (r *repeatReader) Read(p []byte) (int, error) {
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
		return io.MultiReader(strings.NewReader(head), &repeatReader{'x', n}, strings.NewReader("\n\n"))
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

// An event without data counts if it has a name, an id or a time; an unfinished event
// does not, and is available from Rest.
func TestEventsWithoutData(t *testing.T) {
	r := NewReader(strings.NewReader("id: 1\n\nretry: 20\nid: a\x00b\n\nevent: e\n\n: c\nx: y\n\ndata:\n\nid: 2\nretry: 1s\ndata: x\n"), 30)
	var got []string
	for {
		e, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
		got = append(got, fmt.Sprintf("%s,%s,%q,%v,%v", e.Name, e.ID, e.Data, e.Data == nil, e.Retry))
	}
	want := []string{`,1,"",true,0s`, `,,"",true,20ms`, `e,,"",true,0s`, `,,"",false,0s`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if e, ok := r.Rest(); !ok || string(e.ID) != "2" || string(e.Data) != "x" || e.Retry != 0 {
		t.Errorf("the rest is %+v, %v", e, ok)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if e, ok := r.Rest(); ok {
		t.Errorf("there is a rest twice: %+v", e)
	}
}

// All lines of an event count towards its limit, and no others.
func TestEventsBoundAllLines(t *testing.T) {
	for in, want := range map[string]string{
		"data: 12\n\n": "|12", "data: 123\n\n": "", "id: 1\ndata: \n\n": "", ": 34567\nid:\n\n": "",
		": 345678\n\n: 345678\n\ndata: 12\n\n": "|12",
	} {
		for name, src := range map[string]io.Reader{"whole": strings.NewReader(in), "bytes": iotest.OneByteReader(strings.NewReader(in))} {
			e, err := NewReader(src, 8).Next()
			if want == "" && !errors.Is(err, ErrTooLong) || want != "" && (err != nil || "|"+string(e.Data) != want) {
				t.Errorf("%q %s: %+v, %v", in, name, e, err)
			}
		}
	}
}

// A stream that stays open does not keep the buffer of its longest event.
func TestBufferIsReleased(t *testing.T) {
	r := NewReader(io.MultiReader(strings.NewReader("data: "), &repeatReader{'x', 8 << 20}, strings.NewReader("\n\ndata: a\n\n"), strings.NewReader("data: b\n\n")), maxEvent)
	for _, n := range []int{8 << 20, 1, 1} {
		if e, err := r.Next(); err != nil || len(e.Data) != n {
			t.Fatal(err)
		}
	}
	if cap(r.buf)+cap(r.data) > keptBuffer {
		t.Errorf("%d and %d bytes are kept", cap(r.buf), cap(r.data))
	}
}

// FuzzEvents: the events do not depend on the pieces in which the bytes arrive.
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
