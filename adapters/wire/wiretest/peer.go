package wiretest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"dragoman/adapters/wire"
)

// Peer is the other side of a connection. It reads frames by itself, and strictly: what
// the connection writes must have exactly the form that its framing says. One goroutine
// at a time may read, and one send.
type Peer struct {
	framing wire.Framing
	to      io.WriteCloser // the connection reads from it
	from    *pipe          // the connection writes to it
	buf     []byte         // read and not yet returned
}

// New returns the streams for wire.NewConn, and the peer at their other ends.
func New(framing wire.Framing) (in io.ReadCloser, out io.WriteCloser, p *Peer) {
	in, to := Pipe()
	from := newPipe()
	return in, writer{from}, &Peer{framing: framing, to: to, from: from}
}

// Send sends messages, each in a frame of its own, in one write. It blocks while the pipe
// is full.
func (p *Peer) Send(messages ...string) error {
	var b strings.Builder
	for _, m := range messages {
		switch p.framing {
		case wire.Newline:
			b.WriteString(m + "\n")
		case wire.ContentLength:
			fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(m), m)
		}
	}
	return p.Raw(b.String())
}

// Raw sends bytes as they are.
func (p *Peer) Raw(s string) error {
	_, err := io.WriteString(p.to, s)
	return err
}

// Next returns the next message from the connection. It blocks until there is one, and
// returns io.EOF at the end.
func (p *Peer) Next() (string, error) {
	for {
		msg, whole, err := p.cut()
		if whole || err != nil {
			return msg, err
		}
		part := make([]byte, capacity)
		n, err := p.from.read(part)
		if p.buf = append(p.buf, part[:n]...); err != nil {
			if len(p.buf) > 0 && errors.Is(err, io.EOF) {
				return "", fmt.Errorf("the stream ends within %.200q", p.buf)
			}
			return "", err
		}
	}
}

// Pending reports whether Next would return a message at once.
func (p *Peer) Pending() bool {
	for p.from.len() > 0 {
		b := make([]byte, p.from.len())
		n, err := p.from.read(b)
		if p.buf = append(p.buf, b[:n]...); err != nil {
			break
		}
	}
	keep := p.buf
	_, whole, err := p.cut()
	p.buf = keep
	return whole || err != nil
}

// cut takes the first message out of the buffer, if it is whole.
func (p *Peer) cut() (msg string, whole bool, err error) {
	switch p.framing {
	case wire.Newline:
		line, rest, ok := bytes.Cut(p.buf, []byte("\n"))
		if ok {
			p.buf = rest
		}
		return string(line), ok, nil
	case wire.ContentLength:
		head, rest, ok := bytes.Cut(p.buf, []byte("\r\n\r\n"))
		if !ok {
			return "", false, nil
		}
		size, found := strings.CutPrefix(string(head), "Content-Length: ")
		n, err := strconv.Atoi(size)
		if !found || err != nil || n < 0 {
			return "", false, fmt.Errorf("not a header: %.200q", head)
		}
		if len(rest) < n {
			return "", false, nil
		}
		p.buf = rest[n:]
		return string(rest[:n]), true, nil
	}
	return "", false, nil
}

// Hangup closes the connection's input, as an editor that ends does. Its output can still be
// read.
func (p *Peer) Hangup() { p.to.Close() }

// Close closes both directions, as the death of an editor does.
func (p *Peer) Close() {
	p.to.Close()
	p.from.close(&p.from.unread)
}

// Until returns the first message that holds a text, and drops those before it.
func (p *Peer) Until(t testing.TB, text string) string {
	t.Helper()
	for {
		msg, err := p.Next()
		if err != nil {
			t.Fatalf("waiting for %s: %v", text, err)
		}
		if strings.Contains(msg, text) {
			return msg
		}
	}
}

// Play plays a script of which nothing but the peer's lines needs to be carried out.
func (p *Peer) Play(script string, settle func()) (string, error) {
	return Script{Peer: p, Settle: settle}.Play(script)
}
