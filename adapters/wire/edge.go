package wire

import (
	"bytes"
	"context"
	"sync"
)

// Edge rewrites the messages of a connection whose peer speaks an older form of its
// protocol, so that nothing behind the connection knows that form. Its methods may be
// called by many goroutines at once, must not block, and must not use the connection.
// Each is given one whole message without a line feed. It may return or append a part of
// it, and keeps nothing of it.
type Edge interface {
	// Read returns the JSON text that replaces a message of the peer.
	Read(msg []byte) []byte
	// Answer returns the JSON text that replaces an answer of ours.
	Answer(msg []byte) []byte
	// Send appends the messages, any number, that replace a notification or a request of ours.
	// Each ends with a line feed.
	Send(dst, msg []byte) []byte
}

// SetEdge puts an edge between the connection and its streams from now on; nil removes it. A
// recorder records the peer's side of the edge.
func (c *Conn) SetEdge(e Edge) {
	if e == nil {
		c.edge.Store(nil)
		return
	}
	c.edge.Store(&e)
}

// queue queues a notification or a request of ours. msg is the caller's own buffer.
func (c *Conn) queue(msg []byte) error {
	e := c.edge.Load()
	if e == nil {
		return c.out.Put(msg)
	}
	flatten(msg)
	return c.out.PutLines((*e).Send(nil, msg))
}

// PutLines queues many notifications at once, as [Writer.PutLines] does.
func (c *Conn) PutLines(lines []byte) error {
	e := c.edge.Load()
	if e == nil {
		return c.out.PutLines(lines)
	}
	out := make([]byte, 0, len(lines))
	for line := range bytes.SplitSeq(lines, []byte("\n")) {
		if len(line) > 0 {
			out = (*e).Send(out, line)
		}
	}
	return c.out.PutLines(out)
}

// Room waits until fewer than limit bytes are queued, as [Writer.Room] does.
func (c *Conn) Room(ctx context.Context, limit int) error { return c.out.Room(ctx, limit) }

// Queued and Unread are those of its Writer.
func (c *Conn) Queued() int { return c.out.Queued() }

// Unread implements pump.Gauge.
func (c *Conn) Unread() (n int, ok bool) { return c.out.Unread() }

// Pending knows the methods of requests until they are answered, for an [Edge] that
// rewrites answers. It keeps DefaultMaxOpen of them: one that is never answered makes room
// in the end. The zero value is ready, and may be used by many goroutines.
type Pending struct {
	mu      sync.Mutex // guards the field below
	methods map[string]string
}

// Note keeps the method of a request.
func (p *Pending) Note(request Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.methods == nil {
		p.methods = map[string]string{}
	}
	for id := range p.methods {
		if len(p.methods) < DefaultMaxOpen {
			break
		}
		delete(p.methods, id)
	}
	p.methods[string(request.ID)] = request.Method
}

// Take returns the method of the request that is answered, and forgets it; "": it was not
// noted.
func (p *Pending) Take(answer Message) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	method := p.methods[string(answer.ID)]
	delete(p.methods, string(answer.ID))
	return method
}
