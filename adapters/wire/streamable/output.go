package streamable

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"

	"dragoman/adapters/wire"
)

// output writes the answer to an HTTP request: a message as JSON, or events.
type output struct {
	w     http.ResponseWriter
	ids   bool // events have ids
	begun bool // as a stream of events
}

// direct is the size in bytes above which a result is written without a copy.
const direct = 64 << 10

// whole writes an answer as JSON.
func (o *output) whole(modern bool, m wire.Message) {
	o.w.Header().Set("Content-Type", "application/json")
	if modern {
		o.w.WriteHeader(Status(m))
	}
	if len(m.Result) < direct {
		line := make([]byte, 0, len(m.Result)+len(m.Error)+len(m.ID)+64)
		_, _ = o.w.Write(wire.AppendMessage(line, m)) // the client has left
		return
	}
	result := m.Result
	m.Result = nil
	line := wire.AppendMessage(nil, m)
	_, _ = o.w.Write(bytes.TrimSuffix(line, []byte("null}"))) // as above
	_, _ = o.w.Write(result)
	_, _ = o.w.Write([]byte("}"))
}

// begin begins a stream of events, which the client may resume.
func (o *output) begin(x *stream) {
	o.begun = true
	if o.ids {
		x.name()
	}
	Begin(o.w)
	o.flush()
}

// prime gives the client an id to resume by before there is an event (2025-11-25, Sending
// messages).
func (o *output) prime(x *stream) {
	_, _ = o.w.Write([]byte("id: " + x.id + "_0\ndata: \n\n")) // a client's end is noticed elsewhere
	o.flush()
}

// events writes events; false: the client has left.
func (o *output) events(x *stream, list []*event) bool {
	if !o.begun {
		o.begin(x)
	}
	var b []byte
	for _, e := range list {
		if o.ids {
			b = append(append(append(b, "id: "...), x.id...), '_')
			b = append(strconv.AppendInt(b, int64(e.n), 10), '\n')
		}
		b = append(wire.AppendMessage(append(b, "event: message\ndata: "...), e.m), "\n\n"...)
	}
	_, err := o.w.Write(b)
	o.flush()
	if o.ids {
		for _, e := range list {
			x.session.handler.kept.add(e)
		}
	}
	return err == nil
}

func (o *output) flush() { _ = http.NewResponseController(o.w).Flush() } // the next Write notices

// name allows the client to resume a stream.
func (x *stream) name() {
	s := x.session
	s.mu.Lock()
	defer s.mu.Unlock()
	x.named = true
	s.streams[x.id] = x
}

// keptBytes limits the messages that are kept for all clients that may have missed them (up to
// 2025-11-25, Resumability).
const keptBytes = 16 << 20

// eventCost is the memory of an event without its message, in bytes.
const eventCost = 256

// backlog has the events that clients may come back for, the oldest first.
type backlog struct {
	mu    sync.Mutex // guards the fields below
	list  []*event
	bytes int
}

// add keeps an event. If there are too many, the oldest are dropped.
func (k *backlog) add(e *event) {
	var over []*event
	k.mu.Lock()
	if !e.kept {
		e.kept = true
		k.list = append(k.list, e)
		k.bytes += e.size + eventCost
	}
	n := 0
	for ; k.bytes > keptBytes && n < len(k.list); n++ {
		k.bytes -= k.list[n].size + eventCost
	}
	over, k.list = k.list[:n:n], k.list[n:]
	k.mu.Unlock()
	for _, e := range over {
		e.of.forget(e)
	}
}

// forget drops a stream's events up to one of them.
func (x *stream) forget(e *event) {
	s := x.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := e.n - x.first + 1; n > 0 && n <= len(x.events) {
		clear(x.events[:n])
		x.events, x.first = x.events[n:], x.first+n
	}
	if x.done && len(x.events) == 0 {
		delete(s.streams, x.id)
	}
}

// readN reads n bytes.
func readN(r io.Reader, n, limit int) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, min(n, 1<<20)+bytes.MinRead)) // the announced size may be wrong
	_, err := b.ReadFrom(io.LimitReader(r, int64(limit)+1))
	return b.Bytes(), err
}
