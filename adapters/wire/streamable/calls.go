package streamable

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

const (
	// maxRemembered limits the ended calls that Calls remembers, and separately the
	// cancellations that arrived before their requests.
	maxRemembered = 1000
	// maxKey limits the size of a key in bytes. Calls with longer keys are not ordered, so
	// that a client cannot fill the memory with ids.
	maxKey = 512
)

// Calls keeps requests in order with their cancellations (Basic, Cancellation). Over HTTP each
// comes over its own connection, so a cancellation may overtake its request on the way, or while
// the request is still being judged. Without Calls such a cancellation would be lost, and the call
// would continue.
//
// The zero value is ready to use, and may be used by many goroutines.
type Calls struct {
	mu        sync.Mutex // guards the fields below
	open      map[string]*call
	overtaken memory // calls whose cancellation came first
	ended     memory // calls whose cancellation would come too late
}

// call is a request on its way to the one who answers it.
type call struct {
	cancel   context.CancelCauseFunc
	canceled atomic.Bool   // before it was passed on
	passed   chan struct{} // closed when the call was passed on, or has ended
	known    bool          // passed is closed; the lock of Calls guards it
}

type callKey struct{} // the key of the call in a request's context

// Take registers a message of a session. end must be called when it is answered. The
// context of a request ends, with the cause wire.ErrCanceled, when it is cancelled before
// [Calls.Passed]; if its cancellation came first it has ended already. A cancellation waits until
// its request was passed on or has ended, so that it can be passed on after it.
func (c *Calls) Take(ctx context.Context, session string, m wire.Message) (_ context.Context, end func()) {
	if m.Method == proto.NoteCancelled {
		if id := CancelledID(m.Params); id != nil {
			c.cancel(keyOf(session, string(id)))
		}
	}
	if m.Kind() != wire.Request {
		return ctx, func() {}
	}
	return c.begin(ctx, keyOf(session, string(m.ID)))
}

// keyOf names a call by its session and its id, as it was written.
func keyOf(session, id string) string { return session + "\x00" + id }

// Canceled reports whether the request of a context that [Calls.Take] returned was
// cancelled before it was passed on. A client that hangs up ends the context too, but is no
// cancellation.
func Canceled(ctx context.Context) bool {
	one, ok := ctx.Value(callKey{}).(*call)
	return ok && one.canceled.Load()
}

func (c *Calls) begin(ctx context.Context, key string) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	one := &call{cancel: cancel, passed: make(chan struct{})}
	ctx = context.WithValue(ctx, callKey{}, one)
	c.mu.Lock()
	open := len(key) > maxKey || c.open[key] != nil // a duplicate is refused by the one who answers it
	overtaken := !open && c.overtaken.forget(key)
	if !open {
		c.ended.forget(key)
		if c.open == nil {
			c.open = map[string]*call{}
		}
		c.open[key] = one
	}
	c.mu.Unlock()
	switch {
	case open:
		return ctx, func() { cancel(nil) }
	case overtaken:
		one.takeBack()
	}
	return ctx, func() { c.end(key, one) }
}

func (c *Calls) end(key string, one *call) {
	c.mu.Lock()
	one.passLocked()
	delete(c.open, key)
	c.ended.remember(key)
	c.mu.Unlock()
	one.cancel(nil)
}

// Passed notes that a request was passed on: later cancellations will find it.
func (c *Calls) Passed(session, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.open[keyOf(session, id)]; one != nil {
		one.passLocked()
	}
}

func (o *call) passLocked() {
	if !o.known {
		o.known = true
		close(o.passed)
	}
}

// cancel ends a call that has not been passed on. A call that has not come yet ends when it comes.
func (c *Calls) cancel(key string) {
	c.mu.Lock()
	one := c.open[key]
	if one == nil && len(key) <= maxKey && !c.ended.has(key) {
		c.overtaken.remember(key)
	}
	known := one == nil || one.known
	c.mu.Unlock()
	if known {
		return
	}
	one.takeBack()
	<-one.passed
}

func (o *call) takeBack() {
	o.canceled.Store(true)
	o.cancel(wire.ErrCanceled)
}

// memory remembers the newest keys.
type memory struct {
	keys  map[string]struct{}
	order []string
	first int // where in order the oldest is; those before it are the newest
}

func (m *memory) has(key string) bool {
	_, ok := m.keys[key]
	return ok
}

func (m *memory) remember(key string) {
	if m.keys == nil {
		m.keys = map[string]struct{}{}
	}
	if m.has(key) {
		return
	}
	m.keys[key] = struct{}{}
	if len(m.order) < maxRemembered {
		m.order = append(m.order, key)
		return
	}
	delete(m.keys, m.order[m.first])
	m.order[m.first] = key
	m.first = (m.first + 1) % maxRemembered
}

// forget reports whether the key was remembered.
func (m *memory) forget(key string) bool {
	if !m.has(key) {
		return false
	}
	delete(m.keys, key)
	m.order, m.first = slices.Concat(m.order[m.first:], m.order[:m.first]), 0
	m.order = slices.DeleteFunc(m.order, func(k string) bool { return k == key })
	return true
}

// CancelledID returns the id of the request that a notifications/cancelled with these parameters
// cancels; nil: it names none.
func CancelledID(params json.RawMessage) json.RawMessage {
	id, _ := Cancelled(params)
	return id
}

// Cancelled is CancelledID, with the reason that the notification gives.
func Cancelled(params json.RawMessage) (id json.RawMessage, reason string) {
	var n struct {
		ID     json.RawMessage `json:"requestId"`
		Reason json.RawMessage `json:"reason"`
	}
	if wire.Unmarshal(params, &n) != nil || string(n.ID) == "null" {
		return nil, ""
	}
	_ = json.Unmarshal(n.Reason, &reason) // only a text is a reason
	return n.ID, reason
}
