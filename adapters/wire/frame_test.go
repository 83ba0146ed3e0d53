package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"dragoman/adapters/wire"
)

// frames reads all of a framer: messages as they are, faults as "! " and their text, and what ended it but for io.EOF.
func frames(t testing.TB, f wire.Framer) []string {
	t.Helper()
	var got []string
	for range 1 << 20 {
		b, err := f.Next()
		if fault, ok := errors.AsType[*wire.FrameError](err); ok {
			if b != nil {
				t.Errorf("a fault came with a message %q", b)
			}
			text := "! " + fault.Msg
			if fault.Body != nil {
				text += " <" + string(fault.Body) + ">"
			}
			got = append(got, text)
			continue
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				got = append(got, "# "+err.Error())
			}
			return got
		}
		if len(b) == 0 {
			t.Fatal("an empty message")
		}
		got = append(got, string(b))
	}
	t.Fatal("the framer does not end")
	return nil
}

// readers are ways in which the same bytes may arrive.
var readers = []struct {
	name string
	of   func(string) io.Reader
}{
	{"at once", func(s string) io.Reader { return strings.NewReader(s) }},
	{"byte by byte", func(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) }},
	{"in halves", func(s string) io.Reader { return iotest.HalfReader(strings.NewReader(s)) }},
	{"end with the last bytes", func(s string) io.Reader { return iotest.DataErrReader(strings.NewReader(s)) }},
}

func checkFrames(t *testing.T, f wire.Framing, limit int, in string, want []string) {
	t.Helper()
	for _, r := range readers {
		got := frames(t, f.Framer(r.of(in), limit))
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", r.name, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	big := strings.Repeat("x", 200_000)
	for _, c := range []struct {
		name  string
		limit int
		in    string
		want  []string
	}{
		{name: "nothing"},
		{name: "two", in: "{}\n[]\n", want: []string{"{}", "[]"}},
		{name: "carriage returns", in: "{}\r\n[]\r\n", want: []string{"{}", "[]"}},
		{name: "empty lines", in: "\n\r\n  \t\n{}\n\n\n", want: []string{"{}"}},
		{name: "no line feed at the end", in: "{}\n[]", want: []string{"{}", "[]"}},
		{name: "only blanks at the end", in: "{}\n  ", want: []string{"{}"}},
		{name: "byte order mark at the start", in: "\xef\xbb\xbf{}\n", want: []string{"{}"}},
		{name: "byte order mark alone", in: "\xef\xbb\xbf\n{}\n", want: []string{"{}"}},
		{name: "byte order mark later", in: "{}\n\xef\xbb\xbf{}\n", want: []string{"{}", "\xef\xbb\xbf{}"}},
		{name: "other blanks are not JSON's", in: "\u00a0{}\n", want: []string{"\u00a0{}"}},
		{name: "NUL", in: "{\x00}\n", want: []string{"{\x00}"}},
		{name: "longer than the buffer", in: big + "\n{}\n", want: []string{big, "{}"}},
		{name: "longer than the buffer, unended", in: big, want: []string{big}},
		{name: "at the limit", limit: 4, in: "1234\n1234\r\n1234", want: []string{"1234", "1234", "1234"}},
		{name: "over the limit", limit: 4, in: "12345\n1\n", want: []string{"! message exceeds 4 bytes", "1"}},
		{name: "over the limit by far", limit: 100_000, in: big + "\n1\n" + big + big + "\n2\n", want: []string{"! message exceeds 100000 bytes", "1", "! message exceeds 100000 bytes", "2"}},
		{name: "over the limit at the end", limit: 4, in: "1\n" + big, want: []string{"1", "! message exceeds 4 bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) { checkFrames(t, wire.Newline, c.limit, c.in, c.want) })
	}
}

// Where nothing else is said a message may have 64 MiB.
func TestMessagesAreBounded(t *testing.T) {
	const most = 64 << 20
	for name, c := range map[string]struct {
		f    wire.Framing
		head func(n int) string
	}{
		"lines":   {wire.Newline, func(int) string { return "" }},
		"headers": {wire.ContentLength, func(n int) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n", n) }},
	} {
		for n, large := range map[int]bool{most: false, most + 1: true} {
			in := io.MultiReader(strings.NewReader(c.head(n)), io.LimitReader(same('x'), int64(n)), strings.NewReader("\n"))
			b, err := c.f.Framer(in, 0).Next()
			fault, refused := errors.AsType[*wire.FrameError](err)
			if refused != large || large && fault.Msg != "message exceeds 67108864 bytes" || !large && (err != nil || len(b) != n) {
				t.Errorf("%s: %d bytes are read as %d, %v", name, n, len(b), err)
			}
		}
	}
}

// same reads as one byte again and again.
type same byte

func (s same) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(s)
	}
	return len(b), nil
}

func TestHeaders(t *testing.T) {
	const (
		noHeader = "! expected a header line with a Content-Length"
		noLength = "! no Content-Length in the header"
		twice    = "! more than one Content-Length in the header"
		tooBig   = "! message exceeds 100000 bytes"
	)
	big := strings.Repeat("x", 90_000)
	head := func(s string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(s), s) }
	for _, c := range []struct {
		name string
		in   string
		want []string
	}{
		{"nothing", "", nil},
		{"two", head("{}") + head("[1]"), []string{"{}", "[1]"}},
		{"names in any case, blanks, other headers", "X-A: b\r\ncontent-LENGTH :  2 \r\nY:\r\n\r\n{}", []string{"{}"}},
		{"line feeds alone", "Content-Length: 2\n\n{}", []string{"{}"}},
		{"line feeds behind a body", head("{}") + "\n\r\n\n" + head("[]") + "\n", []string{"{}", "[]"}},
		{"a body over many lines", head("{\n\n}") + head("[]"), []string{"{\n\n}", "[]"}},
		{"byte order mark at the start", "\xef\xbb\xbf" + head("{}"), []string{"{}"}},
		{"a large body", head(big) + head("1"), []string{big, "1"}},
		{"leading zeros", "Content-Length: 002\r\n\r\n{}", []string{"{}"}},

		{"charset", "Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}", []string{"{}"}},
		{"charset utf8", "Content-Type: application/vscode-jsonrpc; charset=utf8\r\nContent-Length: 2\r\n\r\n{}", []string{"{}"}},
		{"charset quoted, in capitals", "Content-Type: x/y;a=b ; Charset = \"UTF-8\"\r\nContent-Length: 2\r\n\r\n{}", []string{"{}"}},
		{"no charset", "content-type: application/vscode-jsonrpc\r\nContent-Length: 2\r\n\r\n{}", []string{"{}"}},
		{"another charset", "Content-Type: x/y; charset=utf-16\r\nContent-Length: 2\r\n\r\n{}" + head("1"), []string{`! charset "utf-16" is not supported, only utf-8 <{}>`, "1"}},
		{"two charsets", "Content-Type: x/y; charset=utf-8; charset=latin1\r\nContent-Length: 2\r\n\r\n{}" + head("1"), []string{`! charset "latin1" is not supported, only utf-8 <{}>`, "1"}},

		{"no length", "X: y\r\n\r\n{}" + head("1"), []string{noLength, "1"}},
		{"negative", "Content-Length: -2\r\n\r\n{}" + head("1"), []string{`! Content-Length "-2" is not a usable number`, "1"}},
		{"a sign", "Content-Length: +2\r\n\r\n{}" + head("1"), []string{`! Content-Length "+2" is not a usable number`, "1"}},
		{"no number", "Content-Length: two\r\n\r\n{}" + head("1"), []string{`! Content-Length "two" is not a usable number`, "1"}},
		{"empty", "Content-Length:\r\n\r\n{}" + head("1"), []string{`! Content-Length "" is not a usable number`, "1"}},
		{"overflow", "Content-Length: 99999999999999999999\r\n\r\n{}" + head("1"), []string{`! Content-Length "99999999999999999999" is not a usable number`, "1"}},
		{"duplicate", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}" + head("1"), []string{twice, "1"}},
		{"duplicate, equal", "Content-Length: 2\r\ncontent-length: 2\r\n\r\n{}" + head("1"), []string{twice, "1"}},
		{"three, the last is no next message", "Content-Length: 2\r\nContent-Length: 3\r\nContent-Length: 1\r\n\r\n{}" + head("1"), []string{twice, "1"}},
		{"zero", "Content-Length: 0\r\n\r\n" + head("1"), []string{"! empty message", "1"}},
		{"over the limit", head(big+big) + head("1"), []string{tooBig, "1"}},
		{"over the limit, and a lie", "Content-Length: 123456789012\r\n\r\n{}" + head("1"), []string{tooBig, "1"}},

		{"a line of JSON", `{"id":1}` + "\n" + head("1"), []string{noHeader, "1"}},
		{"garbage right before a header", "}}" + head("1"), []string{"1"}},
		{"noise on a line", "Downloading model...\nContent-Length: 1\r\n\r\n1", []string{noHeader, "1"}},
		{"garbage that names the header", "x Content-Length: y\nContent-Length: 1\r\n\r\n1", []string{noHeader, "1"}},
		{"endless garbage", strings.Repeat("garbage ", 30_000) + "\n" + head("1"), []string{"! header section exceeds 8192 bytes", "1"}},
		{"endless garbage, a header right behind it", strings.Repeat("garbage ", 30_000) + head("1"), []string{"! header section exceeds 8192 bytes", "1"}},
		{"endless header", strings.Repeat("X-A: b\r\n", 5000) + "\r\n" + head("1"), []string{"! header section exceeds 8192 bytes", "1"}},

		{"end in a header", head("{}") + "Content-Le", []string{"{}", "# unexpected EOF"}},
		{"end behind a header line", "Content-Length: 2\r\n", []string{"# unexpected EOF"}},
		{"end in a body", "Content-Length: 20\r\n\r\n{}", []string{"# unexpected EOF"}},
		{"end while lost", "garbage\nmore", []string{noHeader}},
	} {
		t.Run(c.name, func(t *testing.T) { checkFrames(t, wire.ContentLength, 100_000, c.in, c.want) })
	}
}

// A fault is reported when it is seen, not when the next message comes: else its answer would wait for that.
func TestFaultsAreReportedAtOnce(t *testing.T) {
	for _, c := range []struct {
		framing wire.Framing
		in      string
	}{
		{wire.ContentLength, "Content-Length: -1\r\n\r\n"},
		{wire.ContentLength, "Content-Length: 1000\r\n\r\n"},
		{wire.ContentLength, "{\"id\":1}\n"},
		{wire.ContentLength, "Content-Length: 0\r\n\r\n"},
		{wire.Newline, strings.Repeat("x", 70<<10)},
	} {
		silence := errors.New("read on")
		_, err := c.framing.Framer(io.MultiReader(strings.NewReader(c.in), iotest.ErrReader(silence)), 100).Next()
		if _, ok := errors.AsType[*wire.FrameError](err); !ok {
			t.Errorf("%.40q: %v", c.in, err)
		}
	}
}

// A body that is no JSON may have a wrong length: too short, and its rest stands before the next header; too long, and
// the next header stands in it.
func TestResync(t *testing.T) {
	const next = "Content-Length: 3\r\n\r\n[1]Content-Length: 3\r\n\r\n[2]"
	for _, c := range []struct {
		name  string
		in    string
		first string
		want  []string
	}{
		{"right length, bad JSON", "Content-Length: 7\r\n\r\n{broken" + next, "{broken", []string{"[1]", "[2]"}},
		{"too short", "Content-Length: 3\r\n\r\n{\"a\":1}" + next, `{"a`, []string{"[1]", "[2]"}},
		{"too long, a whole header", "Content-Length: 28\r\n\r\n{\"a\":1}" + next, "{\"a\":1}Content-Length: 3\r\n\r\n", []string{"[1]", "[2]"}},
		{"too long, a header and more", "Content-Length: 30\r\n\r\n{\"a\":1}" + next, "{\"a\":1}Content-Length: 3\r\n\r\n[1", []string{"[1]", "[2]"}},
		{"too long, a header without its value", "Content-Length: 22\r\n\r\n{\"a\":1}" + next, "{\"a\":1}Content-Length:", []string{"[1]", "[2]"}},
		{"too long, a part of a header", "Content-Length: 11\r\n\r\n{\"a\":1}" + next, `{"a":1}Cont`, []string{"[1]", "[2]"}},
		{"too long by one", "Content-Length: 8\r\n\r\n{\"a\":1}" + next, `{"a":1}C`, []string{"[1]", "[2]"}},
		{"a header escaped in a string is none", "Content-Length: 39\r\n\r\n{\"a\":\"Content-Length: 2\\r\\n\\r\\n{}\",,,,,,}" + next, "{\"a\":\"Content-Length: 2\\r\\n\\r\\n{}\",,,,,,}"[:39], []string{"[1]", "[2]"}},
	} {
		for _, r := range readers {
			f := wire.Headers(r.of(c.in), 1000)
			b, err := f.Next()
			if err != nil || string(b) != c.first {
				t.Fatalf("%s, %s: first %q, %v", c.name, r.name, b, err)
			}
			f.(wire.Resyncer).Resync(b)
			if got := frames(t, f); !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: got %q, want %q", c.name, r.name, got, c.want)
			}
		}
	}
}

// Headers in bodies in bodies must not be searched again and again.
func TestResyncIsLinear(t *testing.T) {
	var in bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n", 900_000-40*i)
	}
	in.WriteString(strings.Repeat("x", 100_000))
	read := &countingReader{r: bytes.NewReader(in.Bytes())}
	f := wire.Headers(read, 1<<20)
	bodies := 0
	for {
		b, err := f.Next()
		if _, ok := errors.AsType[*wire.FrameError](err); ok {
			continue
		}
		if err != nil {
			break
		}
		bodies += len(b)
		f.(wire.Resyncer).Resync(b)
	}
	if bodies > 4*in.Len() {
		t.Errorf("%d bytes of bodies out of %d", bodies, in.Len())
	}
}

type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Memory follows what has arrived, not what was claimed.
func TestClaimsCostNothing(t *testing.T) {
	got := allocated(func() {
		f := wire.Headers(strings.NewReader("Content-Length: 1073741824\r\n\r\n"+strings.Repeat("x", 1000)), 1<<31-1)
		if _, err := f.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
	if got > 1<<20 {
		t.Errorf("a claimed GiB of which 1,000 bytes came took %d bytes", got)
	}
}

// A large message costs about its size, and none of it is kept.
func TestMemoryOfLargeMessages(t *testing.T) {
	const size = 32 << 20
	body := bytes.Repeat([]byte("x"), size)
	for _, c := range []struct {
		name    string
		framing wire.Framing
		in      []byte
	}{
		{"line", wire.Newline, append(bytes.Clone(body), "\n{}\n"...)},
		{"headers", wire.ContentLength, slices.Concat(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", size), body, []byte("Content-Length: 2\r\n\r\n{}"))},
	} {
		f := c.framing.Framer(bytes.NewReader(c.in), 0)
		if took := allocated(func() {
			if b, err := f.Next(); err != nil || len(b) != size {
				t.Fatalf("%s: %d bytes, %v", c.name, len(b), err)
			}
		}); took > 4*size {
			t.Errorf("%s: a message of %d bytes took %d", c.name, size, took)
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		held := m.HeapAlloc
		b, err := f.Next()
		if err != nil || string(b) != "{}" {
			t.Fatalf("%s: %q, %v", c.name, b, err)
		}
		f = nil // what it held is what is measured
		runtime.GC()
		runtime.ReadMemStats(&m)
		if m.HeapAlloc+1<<20 < held {
			t.Errorf("%s: the framer kept %d bytes", c.name, held-m.HeapAlloc)
		}
		runtime.KeepAlive(body)
		runtime.KeepAlive(c.in)
	}
	// Over the limit, nothing is kept at all.
	if took := allocated(func() { frames(t, wire.Lines(bytes.NewReader(body), 1<<20)) }); took > 5<<20 {
		t.Errorf("a line over the limit took %d bytes", took)
	}
}

// What a writer frames, a framer reads: any message, however the bytes arrive.
func TestFramesSurvive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, framing := range []wire.Framing{wire.Newline, wire.ContentLength} {
		var want []string
		var in bytes.Buffer
		for i := range 2000 {
			msg := strings.Repeat("m", 1+rnd.IntN(1<<rnd.IntN(14))) + fmt.Sprint(i)
			want = append(want, msg)
			switch framing {
			case wire.Newline:
				in.WriteString(msg + "\n")
			case wire.ContentLength:
				fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n%s", len(msg), msg)
			}
		}
		for _, r := range readers {
			if got := frames(t, framing.Framer(r.of(in.String()), 0)); !slices.Equal(got, want) {
				t.Errorf("framing %d, %s: %d of %d messages are right", framing, r.name, len(got), len(want))
			}
		}
	}
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "{}\n", "a\r\n\r\nb", "\xef\xbb\xbf{}\n1234567890\n1", "\n\n \t\r\n", "0123456789012"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 8
		var want []string
		for i, line := range bytes.Split(in, []byte("\n")) {
			text := bytes.Trim(line, " \t\r")
			if i == 0 {
				text = bytes.Trim(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), " \t\r")
			}
			switch {
			case len(bytes.TrimRight(line, "\r")) > limit:
				want = append(want, "! message exceeds 8 bytes")
			case len(text) > 0:
				want = append(want, string(text))
			}
		}
		for _, r := range readers {
			if got := frames(t, wire.Lines(r.of(string(in)), limit)); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", r.name, got, want)
			}
		}
	})
}

// FuzzHeaders checks that however a stream begins, the framer ends, gives the same whichever way the bytes come, and
// finds messages behind it again.
func FuzzHeaders(f *testing.F) {
	for _, s := range []string{
		"", "Content-Length: 2\r\n\r\n{}", "content-length:1\n\n1\n\n", "Content-Length: -1\r\n\r\n{}", "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"Content-Type: a; charset=b\r\nContent-Length: 3\r\n\r\n{}", "x: y\r\n\r\n", "\n\n\n", "{}\n", "Content-Length: 9999\r\n\r\n", "Content-Length: 0\r\n\r\n",
		"Content-Length: 40\r\n\r\n{}Content-Length: 2\r\n\r\n{}", "Content-Length: 12\r\n\r\n{}Content-Le",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		// The tail is longer than any message, so that a body which swallows a part of it does not swallow all.
		const limit, message = 50, `{"tail":true}`
		tail := strings.Repeat(fmt.Sprintf("\nContent-Length: %d\r\n\r\n%s", len(message), message), 5)
		var first []string
		for i, r := range readers {
			fr := wire.Headers(r.of(string(in)+tail), limit)
			var got []string
			for range len(in) + 100 {
				b, err := fr.Next()
				if fault, ok := errors.AsType[*wire.FrameError](err); ok {
					got = append(got, "! "+fault.Msg)
					continue
				}
				if err != nil {
					break
				}
				if got = append(got, string(b)); b[0] != '{' {
					fr.(wire.Resyncer).Resync(b)
				}
			}
			if len(got) == 0 || got[len(got)-1] != message {
				t.Fatalf("%s: %q does not end with the tail's message", r.name, got)
			}
			if i == 0 {
				first = got
			} else if !slices.Equal(got, first) {
				t.Errorf("%s: got %q, else %q", r.name, got, first)
			}
		}
	})
}
