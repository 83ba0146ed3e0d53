package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/creachadair/jrpc2"
)

// maxID is the highest id of our requests: some peers keep ids in 32 bits.
const maxID = math.MaxInt32

// Ask is a request of ours that is not answered yet.
type Ask struct {
	conn   *Conn
	id     int64
	method string
	done   func(json.RawMessage, error)
}

// Start queues a request to the peer and returns without waiting; its place in the
// stream is here. done is called once, with the result or an error, unless the request
// is withdrawn: on the reading goroutine in the order of the stream, so it must not
// block; with a *jrpc2.Error when the peer answers with one, and with ErrClosed when the
// connection ends. When Start itself returns an error, done is never called.
func (c *Conn) Start(method string, params any, done func(result json.RawMessage, err error)) (*Ask, error) {
	a := &Ask{conn: c, method: method, done: done}
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	a.id = c.nextLocked()
	c.asked[a.id] = a
	c.mu.Unlock()

	if c.send != nil {
		m, err := messageOf(a.id, method, params)
		if err == nil {
			c.send(m, nil)
		} else if a.forget() {
			return nil, fmt.Errorf("ask %s: %w", method, err)
		}
		return a, nil
	}
	buf := c.buffer()
	defer c.giveBack(buf)
	msg := append(appendHead(*buf, c.bare.Load()), `"id":`...)
	msg = append(strconv.AppendInt(msg, a.id, 10), ',')
	msg, err := appendMethod(msg, method, params)
	if *buf = msg; err == nil {
		err = c.queue(msg)
	} else {
		err = fmt.Errorf("ask %s: %w", method, err)
	}
	if err != nil && a.forget() {
		return nil, err
	}
	return a, nil // without the request in the table, done was called
}

// nextLocked chooses the id of a new request: 1 and up, and again from 1 behind the highest.
func (c *Conn) nextLocked() int64 {
	for {
		if c.last++; c.last > maxID {
			c.last, c.wraps = 1, true
		}
		if c.asked[c.last] == nil {
			return c.last
		}
	}
}

// ID is the id under which the peer knows the request.
func (a *Ask) ID() int64 { return a.id }

func (a *Ask) forget() bool {
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	mine := a.conn.asked[a.id] == a
	if mine {
		delete(a.conn.asked, a.id)
	}
	return mine
}

// Withdraw cancels the request. The peer is notified as [Options.Withdraw] describes; a late
// answer is dropped and counted. It returns false if done was called or is about to be.
func (a *Ask) Withdraw() bool { return a.WithdrawFor("") }

// WithdrawFor is Withdraw with a reason for the peer, in the member reason; "": none.
func (a *Ask) WithdrawFor(reason string) bool {
	if !a.forget() {
		return false
	}
	if w := a.conn.opts.Withdraw; w.Method != "" {
		params := map[string]any{w.Member: a.id}
		if reason != "" {
			params["reason"] = reason
		}
		a.conn.Notify(w.Method, params) //nolint:errcheck // the connection has ended
	}
	return true
}

// Ask sends a request to the peer and waits for its answer, which it decodes into result
// as [Unmarshal] does; a nil result drops it. The error is a *jrpc2.Error when the peer
// answers with one and ErrClosed when the connection ends. When ctx ends first, the
// request is withdrawn and the error is the cause of ctx.
func (c *Conn) Ask(ctx context.Context, method string, params, result any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	type answer struct {
		result json.RawMessage
		err    error
	}
	answers := make(chan answer, 1) // done is called once, and must not wait
	a, err := c.Start(method, params, func(r json.RawMessage, err error) { answers <- answer{r, err} })
	if err != nil {
		return err
	}
	var got answer
	select {
	case got = <-answers:
	case <-ctx.Done():
		if a.Withdraw() {
			return context.Cause(ctx)
		}
		got = <-answers // it came first
	}
	if got.err != nil || result == nil {
		return got.err
	}
	if raw, ok := result.(*json.RawMessage); ok && len(got.result) > 0 {
		*raw = got.result // it is part of a message that was parsed
		return nil
	}
	if err := Unmarshal(got.result, result); err != nil {
		return fmt.Errorf("the answer to %s: %w", method, err)
	}
	return nil
}

// answered passes an answer to its request. If fault is not nil, the answer is invalid.
func (c *Conn) answered(m Message, fault error) {
	id, ok := ownID(m.ID)
	c.mu.Lock()
	var a *Ask
	if ok {
		a = c.asked[id]
	}
	switch {
	case a != nil:
		delete(c.asked, id)
	case ok && (id <= c.last || c.wraps):
		c.stats.Late++
	default:
		c.stats.Stray++
	}
	c.mu.Unlock()
	switch {
	case a == nil:
	case fault != nil:
		c.finish(a, nil, fmt.Errorf("the answer to %s: %v", a.method, fault))
	case m.Error != nil:
		c.finish(a, nil, peerError(m.Error))
	default:
		c.finish(a, m.Result, nil)
	}
}

func (c *Conn) finish(a *Ask, result json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			c.panicked(a.method, v)
		}
	}()
	a.done(result, err)
}

// ownID reads an id of ours as a peer returns it: exactly, or as a number with the same value.
func ownID(raw json.RawMessage) (int64, bool) {
	if id, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return id, id > 0 && id <= maxID
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || f < 1 || f > maxID {
		return 0, false
	}
	return int64(f), true
}

// peerError reads the error object of an answer, whatever a peer put there.
func peerError(raw json.RawMessage) error {
	e := new(jrpc2.Error)
	if err := json.Unmarshal(raw, e); err == nil {
		return e
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return &jrpc2.Error{Code: jrpc2.InternalError, Message: text}
	}
	return &jrpc2.Error{
		Code:    jrpc2.InternalError,
		Message: "the peer answered with an error that cannot be read",
		Data:    raw,
	}
}
