package wiretest

import (
	"io"
	"sync"
)

// capacity is the capacity of a pipe, in bytes; the same as on Linux.
const capacity = 64 << 10

// pipe is one direction: like an operating system's pipe it takes parts of a Write, and
// blocks the writer when full.
type pipe struct {
	changed sync.Cond // on mu

	mu     sync.Mutex // guards the fields below
	buf    []byte
	noMore bool // the writer has closed
	unread bool // the reader has closed
}

func newPipe() *pipe {
	p := new(pipe)
	p.changed.L = &p.mu
	return p
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.unread:
			return 0, io.ErrClosedPipe
		case len(p.buf) > 0:
			n := copy(b, p.buf)
			p.buf = p.buf[n:]
			p.changed.Broadcast()
			return n, nil
		case p.noMore:
			return 0, io.EOF
		}
		p.changed.Wait()
	}
}

func (p *pipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := 0
	for {
		if p.unread || p.noMore {
			return done, io.ErrClosedPipe
		}
		n := min(len(b)-done, capacity-len(p.buf))
		p.buf = append(p.buf, b[done:done+n]...)
		p.changed.Broadcast()
		if done += n; done == len(b) {
			return done, nil
		}
		p.changed.Wait()
	}
}

func (p *pipe) close(flag *bool) error {
	p.mu.Lock()
	*flag = true
	p.mu.Unlock()
	p.changed.Broadcast()
	return nil
}

func (p *pipe) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.buf)
}

type reader struct{ p *pipe }

func (r reader) Read(b []byte) (int, error) { return r.p.read(b) }
func (r reader) Close() error               { return r.p.close(&r.p.unread) }

type writer struct{ p *pipe }

func (w writer) Write(b []byte) (int, error) { return w.p.write(b) }
func (w writer) Close() error                { return w.p.close(&w.p.noMore) }

// Pipe returns the two ends of a buffered pipe of 64 KiB. A Close of either end
// releases the other.
func Pipe() (io.ReadCloser, io.WriteCloser) {
	p := newPipe()
	return reader{p}, writer{p}
}
