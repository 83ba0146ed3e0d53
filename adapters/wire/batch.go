package wire

import (
	"bytes"
	"context"
	"sync"

	"github.com/creachadair/jrpc2"
)

// batch collects the answers to one batch, which leave as one array when the last has
// been given (JSON-RPC 2.0, section 6). A nil batch is a single message.
type batch struct {
	mu   sync.Mutex // guards the fields below
	open int        // answers that are still to come
	out  []byte     // the array so far
}

// begin expects one more answer.
func (b *batch) begin() {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.open++
	b.mu.Unlock()
}

// end adds an answer, or only ends an expectation when that is nil. The last returns the
// whole array, others nil; it is nil too when there is nothing to answer.
func (b *batch) end(answer []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answer != nil {
		lead := byte(',')
		if b.out == nil {
			lead = '['
		}
		b.out = append(append(b.out, lead), answer...)
	}
	if b.open--; b.open > 0 || b.out == nil {
		return nil
	}
	return append(b.out, ']')
}

// batch takes the messages of the array in b, one after the other.
func (c *Conn) batch(ctx context.Context, b []byte, handle func(*Call)) {
	n := 0
	for e := range elements(b) {
		if e == nil {
			c.reject(nil, nil, jrpc2.Errorf(jrpc2.InvalidRequest, "nesting is too deep"))
			return
		}
		n++
	}
	switch limit := c.opts.MaxBatch; {
	case limit < 0:
		c.reject(nil, nil, jrpc2.Errorf(jrpc2.InvalidRequest, "batches are not accepted"))
	case n == 0:
		c.reject(nil, nil, jrpc2.Errorf(jrpc2.InvalidRequest, "empty batch"))
	case n > limit:
		c.reject(nil, nil, jrpc2.Errorf(jrpc2.InvalidRequest, "a batch has at most %d messages", limit))
	default:
		all := &batch{open: 1} // ours, so that it does not end before the last message has been read
		for e := range elements(b) {
			c.message(ctx, bytes.Trim(e, space), all, handle)
		}
		if whole := all.end(nil); whole != nil {
			c.out.put(whole, true) //nolint:errcheck // the connection has ended
		}
	}
}
